"""Programs that speak to rummyd over the network, as anybody's could: none imports the engine or the service.

api          every call of the API, with its types, whichever way it is spoken; and what went wrong with one
over_grpc    the calls over gRPC
over_rest    the same over JSON and server-sent events
retry        calls and streams that outlive a lost connection, and the server's end
javascript   a client for browsers and node, on its own
demo         a whole match: `demo.player` plays it, `demo.watcher` looks on
"""
