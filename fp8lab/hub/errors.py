"""The one error the Hub's parts raise; the application turns it into a status, a code and a sentence."""


class HubError(Exception):
    """A refusal: HTTP status, the sentence for the person, and the X-Error-Code that huggingface_hub reads.

    Source of the codes: huggingface_hub 2.4.0, utils/_http.py, hf_raise_for_status.
    """

    def __init__(self, status, message, code=None):
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


def repo_not_found(repo_id):
    return HubError(404, f"No kernel repository {repo_id} that this token may see.", "RepoNotFound")


def revision_not_found(repo_id, revision):
    return HubError(404, f"{repo_id} has no branch or commit {revision}.", "RevisionNotFound")


def entry_not_found(repo_id, path):
    return HubError(404, f"{repo_id} has no {path} at this revision.", "EntryNotFound")


def too_large(size, limit):
    return HubError(413, f"The file is {size} bytes, the limit here is {limit} (hub serve --max-file-mib).")
