"""The Hub as an ASGI application: the calls of `kernels` 0.17 and huggingface_hub / `hf` 2.x for kernel repositories.

Reading needs no token unless a repository is private; writing needs the token of a user who owns the namespace or is
a member of the organisation. Paths reach the disk only as SHA-256 digits that the store has recorded.
Source of the protocol: huggingface_hub 2.4.0 (hf_api.py, _commit_api.py, file_download.py) and kernels 0.17.2, read
and run. Uploads of large files: lfs.py, xet.py.
"""

import base64
import re
from urllib.parse import parse_qs

import yaml
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from . import body, gitids, paths
from .answers import LargeFileResponse, base_url, error_response, is_below, iso_time, listing
from .errors import HubError, entry_not_found, too_large
from .lfs import Lfs, checked_sha256
from .store import File, checked_path, lfs_file
from .xet import Xet

REGULAR_BYTES = 10 << 20  # larger files go through LFS, as on huggingface.co
COMMIT_BYTES = 1 << 30  # regular files of one commit, base64; read line by line


def kernel_routes(hub):
    """The calls, by path; `hub` is a Hub. An empty name stands for the repository itself."""
    repo = "/api/kernels/{owner:segment}/{name:segment}"
    return [
        Route("/api/whoami-v2", hub.whoami),
        Route("/api/organizations/{org:segment}/overview", hub.organization),
        Route("/api/validate-yaml", hub.validate_yaml, methods=["POST"]),
        Route("/api/repos/create", hub.create_repo, methods=["POST"]),
        Route("/api/repos/move", hub.move_repo, methods=["POST"]),
        Route("/api/repos/delete", hub.delete_repo, methods=["DELETE"]),
        Route(repo, hub.info),
        Route(repo + "/revision/{revision:segment}", hub.info),
        Route(repo + "/refs", hub.refs),
        Route(repo + "/commits/{revision:segment}", hub.commits),
        Route(repo + "/tree/{revision:segment}", hub.tree),
        Route(repo + "/tree/{revision:segment}/{path:rest}", hub.tree),
        Route(repo + "/paths-info/{revision:segment}", hub.paths_info, methods=["POST"]),
        Route(repo + "/branch/{branch:segment}", hub.create_branch, methods=["POST"]),
        Route(repo + "/branch/{branch:segment}", hub.delete_branch, methods=["DELETE"]),
        Route(repo + "/tag/{revision:segment}", hub.create_tag, methods=["POST"]),
        Route(repo + "/tag/{tag:segment}", hub.delete_tag, methods=["DELETE"]),
        Route(repo + "/preupload/{revision:segment}", hub.preupload, methods=["POST"]),
        Route(repo + "/commit/{revision:segment}", hub.commit, methods=["POST"]),
        Route(repo + "/xet-write-token/{revision:segment}", hub.xet_permission),
        *hub.xet.routes(),
        Route("/kernels/{owner:segment}/{name:segment}/info/lfs/objects/batch", hub.lfs_batch, methods=["POST"]),
        Route("/lfs/{sha256:segment}/{size:segment}", hub.lfs.take, methods=["PUT"]),
        Route("/kernels/{owner:segment}/{name:segment}/resolve/{revision:segment}/{path:rest}", hub.resolve),
    ]


class Hub:
    """The handlers. Those that touch the disk are plain functions: Starlette runs them in a thread.

    store           Store
    max_file_bytes  the largest file taken
    """

    def __init__(self, store, max_file_bytes):
        self.store, self.max_file_bytes = store, max_file_bytes
        self.lfs, self.xet = Lfs(store.objects, max_file_bytes), Xet(store.objects, max_file_bytes)

    # who calls, and what they may

    def _user(self, request):
        """Return the name behind the token of a request, None without a token; HubError 401 for a wrong one."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if not scheme:
            return None
        user = self.store.user_of(token) if scheme.lower() == "bearer" else None
        if user is None:
            raise HubError(401, "This token is unknown here; `fp8lab hub user` makes one.")
        return user

    def _writer(self, request, owner):
        user = self._user(request)
        if user is None:
            raise HubError(401, f"Writing to {owner} needs a token: set HF_TOKEN or run `hf auth login`.")
        if not self.store.may_write(user, owner):
            raise HubError(403, f"{user} may not write to {owner}: needs to be a member of that organisation.")
        return user

    def _repo(self, request):
        return self.store.repo(request.path_params["owner"], request.path_params["name"], self._user(request))

    def _repo_to_write(self, request):
        repo = self._repo(request)
        return repo, self._writer(request, repo.owner)

    def _revision(self, request):
        repo = self._repo(request)
        return repo, self.store.revision(repo, request.path_params.get("revision", "main"))

    # accounts

    def whoami(self, request):
        user = self._user(request)
        if user is None:
            raise HubError(401, "This call needs a token: set HF_TOKEN or run `hf auth login`.")
        orgs = [{"type": "org", "name": org, "fullname": org, "roleInOrg": "write"} for org in self.store.orgs_of(user)]
        token = {"type": "access_token", "accessToken": {"displayName": "fp8lab", "role": "write"}}
        return JSONResponse({"type": "user", "name": user, "fullname": user, "orgs": orgs, "auth": token})

    def organization(self, request):
        name, trusted = self.store.org(request.path_params["org"])
        return JSONResponse({"name": name, "fullname": name, "avatarUrl": "", "type": "org",
                             "trustedKernelPublisher": trusted})

    # repositories, branches and tags

    async def create_repo(self, request):
        wanted = await body.json_object(request)
        return await run_in_threadpool(self._create_repo, request, wanted)

    def _create_repo(self, request, wanted):
        owner, name = self._named_repo(request, wanted)
        user = self._writer(request, owner)
        private = wanted.get("visibility") == "private" or wanted.get("private") is True
        url = f"{base_url(request)}/kernels/{owner}/{name}"
        try:
            self.store.create_repo(owner, name, private, user)
        except HubError as error:
            if error.status != 409:
                raise
            return JSONResponse({"error": error.message, "url": url}, 409)
        return JSONResponse({"url": url, "name": f"{owner}/{name}"})

    async def move_repo(self, request):
        wanted = await body.json_object(request)
        return await run_in_threadpool(self._move_repo, request, wanted)

    def _move_repo(self, request, wanted):
        here, there = ((body.field(wanted, name, str) + "/").split("/", 2)[:2] for name in ("fromRepo", "toRepo"))
        repo = self.store.repo(*here, self._user(request))
        self._writer(request, repo.owner)
        self._writer(request, there[0])
        self.store.move_repo(repo, *there)
        return JSONResponse({})

    async def delete_repo(self, request):
        wanted = await body.json_object(request)
        return await run_in_threadpool(self._delete_repo, request, wanted)

    def _delete_repo(self, request, wanted):
        owner, name = self._named_repo(request, wanted)
        repo = self.store.repo(owner, name, self._user(request))
        self._writer(request, repo.owner)
        self.store.delete_repo(repo)
        return JSONResponse({})

    def _named_repo(self, request, wanted):
        if wanted.get("type") != "kernel":
            raise HubError(400, f"The repository type is {wanted.get('type') or 'model'}, this Hub holds kernels only: "
                                "--type kernel, or repo_type=\"kernel\".")
        owner = body.field(wanted, "organization", str, self._user(request) or "nobody")
        return owner, body.field(wanted, "name", str)

    def info(self, request):
        repo, revision = self._revision(request)
        return JSONResponse({
            "_id": str(repo.id), "id": repo.repo_id, "author": repo.owner, "sha": revision.oid,
            "private": repo.private, "gated": False, "downloads": 0, "likes": 0, "tags": [],
            "createdAt": iso_time(repo.created), "lastModified": iso_time(revision.seconds),
            "siblings": [{"rfilename": path} for path in self.store.files(revision)],
        })

    def refs(self, request):
        repo = self._repo(request)

        def listed(kind, prefix):
            return [{"name": name, "ref": f"refs/{prefix}/{name}", "targetCommit": oid}
                    for name, oid in self.store.refs(repo, kind).items()]

        return JSONResponse({"branches": listed("branch", "heads"), "tags": listed("tag", "tags"), "converts": []})

    async def create_branch(self, request):
        start = body.field(await body.json_object(request), "startingPoint", str, "main")
        return await run_in_threadpool(self._create_ref, request, "branch", request.path_params["branch"], start)

    async def create_tag(self, request):
        name = body.field(await body.json_object(request), "tag", str)
        return await run_in_threadpool(self._create_ref, request, "tag", name, request.path_params["revision"])

    def _create_ref(self, request, kind, name, start):
        repo, _ = self._repo_to_write(request)
        self.store.create_ref(repo, kind, name, start)
        return JSONResponse({}, 201)

    def delete_branch(self, request):
        return self._delete_ref(request, "branch")

    def delete_tag(self, request):
        return self._delete_ref(request, "tag")

    def _delete_ref(self, request, kind):
        repo, _ = self._repo_to_write(request)
        self.store.delete_ref(repo, kind, request.path_params[kind])
        return JSONResponse({})

    # reading commits and files

    def commits(self, request):
        return JSONResponse([
            {"id": one.oid, "title": one.title, "message": one.description, "date": iso_time(one.seconds),
             "authors": [{"user": one.author}]} for one in self.store.history(*self._revision(request))])

    def tree(self, request):
        repo, revision = self._revision(request)
        top = request.path_params.get("path", "").strip("/")
        recursive = request.query_params.get("recursive", "").lower() in ("true", "1")
        found = [entry for path, entry in listing(self.store.files(revision)).items()
                 if is_below(path, top) and (recursive or "/" not in path[len(top):].strip("/"))]
        if top and not found:
            raise entry_not_found(repo.repo_id, top)
        return JSONResponse(found)

    async def paths_info(self, request):
        form = parse_qs((await body.small(request)).decode(errors="replace"))
        return await run_in_threadpool(self._paths_info, request, form.get("paths", []))

    def _paths_info(self, request, paths):
        entries = listing(self.store.files(self._revision(request)[1]))
        return JSONResponse([entries[path] for path in paths if path in entries])

    def resolve(self, request):
        repo, revision = self._revision(request)
        commit = {"X-Repo-Commit": revision.oid}
        file = self.store.files(revision).get(request.path_params["path"])
        if file is None:
            error = entry_not_found(repo.repo_id, request.path_params["path"])
            return error_response(error, headers=commit)
        headers = commit | {"ETag": f'"{file.etag}"', "Content-Disposition": "attachment"}
        if file.is_lfs:
            headers |= {"X-Linked-Etag": headers["ETag"], "X-Linked-Size": str(file.size)}
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        path = self.store.objects.intact(file.sha256)
        return LargeFileResponse(path, headers=headers, media_type="application/octet-stream", stat_result=path.stat())

    # writing files

    async def validate_yaml(self, request):
        """The check huggingface_hub asks for before it commits a README.md: does its front matter parse?"""
        card = body.field(await body.json_object(request), "content", str)
        front = re.match(r"---\s*\n(.*?)\n---", card, re.DOTALL)
        try:
            yaml.safe_load(front[1] if front else "")
        except yaml.YAMLError as error:
            return JSONResponse({"errors": [{"message": f"README.md: {error}"}], "warnings": []}, 400)
        return JSONResponse({"errors": [], "warnings": []})

    async def preupload(self, request):
        files = body.field(await body.json_object(request), "files", list)
        return await run_in_threadpool(self._preupload, request, files)

    def _preupload(self, request, files):
        repo, _ = self._repo_to_write(request)
        present = self.store.files(self.store.revision(repo, request.path_params["revision"]))
        largest = max((body.field(file, "size", int) for file in files), default=0)
        if largest > self.max_file_bytes:  # said here, where every client shows the sentence
            raise too_large(largest, self.max_file_bytes)
        return JSONResponse({"files": [
            {"path": path, "uploadMode": upload_mode(file), "shouldIgnore": False,
             "oid": present[path].etag if path in present else None}
            for file in files for path in [checked_path(body.field(file, "path", str))]]})

    async def commit(self, request):
        if request.query_params.get("create_pr"):
            raise HubError(400, "This Hub has no pull requests: commit to a branch.")
        repo, user = await run_in_threadpool(self._repo_to_write, request)
        header, operations = {"summary": ""}, []
        async for line in body.json_lines(request, COMMIT_BYTES, line_limit=REGULAR_BYTES * 4 // 3 + 4096):
            if line.get("key") == "header":
                header = body.field(line, "value", dict)
            else:
                operations.append(await run_in_threadpool(self._operation, line))
        oid = await run_in_threadpool(
            self.store.commit, repo, request.path_params["revision"], operations, author=user,
            title=body.field(header, "summary", str, ""), description=body.field(header, "description", str, ""),
            parent=body.field(header, "parentCommit", str, "") or None)
        url = f"{base_url(request)}/kernels/{repo.repo_id}/commit/{oid}"
        return JSONResponse({"success": True, "commitOid": oid, "commitUrl": url, "hookOutput": ""})

    def _operation(self, line):
        """Turn one line of a commit into an operation of Store.commit, storing a regular file's content."""
        kind, value = line.get("key"), body.field(line, "value", dict)
        path = body.field(value, "path", str)
        if kind in ("deletedFile", "deletedFolder"):
            return ("delete" if kind == "deletedFile" else "delete_folder"), checked_path(path.rstrip("/"))
        if kind == "lfsFile":
            return "add", lfs_file(checked_path(path), checked_sha256(value), body.field(value, "size", int))
        if kind != "file" or value.get("encoding") != "base64":
            raise HubError(400, f"A commit line {kind!r} is unknown: needs header, file (base64), lfsFile, deletedFile "
                                "or deletedFolder.")
        try:
            content = base64.b64decode(body.field(value, "content", str), validate=True)
        except ValueError as error:
            raise HubError(400, f"The content of {path} is not base64: {error}") from None
        sha256 = self.store.objects.put(content)
        return "add", File(checked_path(path), gitids.blob_id(content), len(content), sha256, False)

    def xet_permission(self, request):
        self._repo_to_write(request)
        return self.xet.permission(base_url(request))

    async def lfs_batch(self, request):
        wanted = await body.json_object(request)
        return await run_in_threadpool(self._lfs_batch, request, wanted)

    def _lfs_batch(self, request, wanted):
        owner = request.path_params["owner"]
        name = request.path_params["name"].removesuffix(".git")
        self._writer(request, self.store.repo(owner, name, self._user(request)).owner)
        return self.lfs.batch(base_url(request), wanted)


def upload_mode(file):
    """Return "lfs" for a file that is large or not text, judged by its first 512 bytes, else "regular"."""
    try:
        sample = base64.b64decode(body.field(file, "sample", str, ""), validate=True)
    except ValueError:
        raise HubError(400, f"The sample of {file['path']} is not base64.") from None
    is_text = b"\0" not in sample and "�" not in sample[:-3].decode(errors="replace")  # -3: a character may be cut
    return "regular" if is_text and body.field(file, "size", int) <= REGULAR_BYTES else "lfs"


def create_app(store, hosts, max_file_bytes):
    """Return the ASGI application.

    hosts           names a Host header may hold; others are refused (a foreign page that points its name at
                    127.0.0.1 would otherwise speak to this Hub from the visitor's browser)
    max_file_bytes  the largest file taken
    """
    async def no_route(request, error):
        return error_response(HubError(error.status_code, f"{request.method} {request.url.path}: {error.detail}"))

    async def refusal(request, error):
        return error_response(error)

    async def gone(request, error):
        return Response(status_code=400)  # nobody is left to read it

    return paths.undecoded(Starlette(
        routes=kernel_routes(Hub(store, max_file_bytes)),
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)],
        exception_handlers={HubError: refusal, ClientDisconnect: gone, 404: no_route, 405: no_route},
    ))
