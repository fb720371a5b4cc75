"""Whether the rummyd in this container is ready: ends with 0, or with 1 and a line that says why not.

It reads the same variables as the server, so it needs no flags. Where clients must have a certificate (mutual TLS), it
shows the server's own, which must then be good for clients, too.
"""

import os
import ssl
import sys
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection

SECONDS = 3.0


def main() -> str | None:
    """Asks `/readyz`, and gives why the server is not ready; None: it is."""
    try:
        with closing(_connection()) as connection:
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            return None if answer.status == 200 else f"not ready: {answer.status} {answer.reason}"
    except (OSError, ValueError, HTTPException) as error:
        return f"not ready: {error}"


def _connection() -> HTTPConnection:
    """A way to REST in this container, by TLS where the server uses that."""
    port = int(os.environ.get("RUMMYD_REST_PORT", "8080"))
    certificate, key = os.environ.get("RUMMYD_TLS_CERTIFICATE"), os.environ.get("RUMMYD_TLS_KEY")
    if not certificate:
        return HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    context = ssl.create_default_context()
    context.check_hostname = False  # it is this container that is asked, by an address that no certificate names
    context.verify_mode = ssl.CERT_NONE
    if os.environ.get("RUMMYD_TLS_CLIENT_CA"):
        context.load_cert_chain(certificate, key)
    return HTTPSConnection("127.0.0.1", port, timeout=SECONDS, context=context)


if __name__ == "__main__":
    sys.exit(main())
