"""The REST front: every method that the protos give a path, as JSON over HTTP; server streams as server-sent events.

    create_app        the whole ASGI application: API, OpenAPI document, docs, health
    routes            verb and path → method          transcode   path, query and body → request message
    front             one HTTP request → one call     sse         one stream → server-sent events
    openapi           the protos → OpenAPI 3.1

Nothing here names a method or a field of the API, but for `cursor`, which knows what resumes a stream of Observe.
"""

from service.api.rest.app import create_app

__all__ = ["create_app"]
