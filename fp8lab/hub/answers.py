"""What the Hub answers: files, listings and errors in the form that huggingface_hub reads."""

import re
from datetime import UTC, datetime

from starlette.responses import FileResponse, JSONResponse

from . import gitids

NO_CREDENTIALS = "Invalid credentials in Authorization header"  # else huggingface_hub reports a missing repository


class LargeFileResponse(FileResponse):
    chunk_size = 1 << 20  # the default of 64 KB spends most of its time between threads


def listing(files):
    """Return {path: entry} of all files and folders of a commit, in the JSON form of the tree call."""
    trees = gitids.tree_ids({path: file.oid for path, file in files.items()})
    entries = {path: {"type": "directory", "oid": oid, "size": 0, "path": path} for path, oid in trees.items() if path}
    for path, file in files.items():
        entries[path] = {"type": "file", "oid": file.oid, "size": file.size, "path": path}
        if file.is_lfs:
            pointer = len(gitids.lfs_pointer(file.sha256, file.size))
            entries[path]["lfs"] = {"oid": file.sha256, "size": file.size, "pointerSize": pointer}
    return dict(sorted(entries.items()))


def is_below(path, folder):
    return not folder or path.startswith(folder + "/")


def base_url(request):
    return str(request.base_url).rstrip("/")


def iso_time(seconds):
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def error_response(error, headers=None):
    headers = dict(headers or {})
    if error.code:
        headers["X-Error-Code"] = error.code
    one_line = re.sub(r"[^ -~]+", " ", error.message)
    headers["X-Error-Message"] = NO_CREDENTIALS if error.status == 401 else one_line
    return JSONResponse({"error": error.message}, error.status, headers=headers)
