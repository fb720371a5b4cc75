"""TLS for gRPC and REST: the certificate of this server, and the authority that its clients' must be of, if any.

tls = Tls.read(certificate, key, client_ca)       paths of PEM files
"""

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Self

__all__ = ["Tls", "TlsError"]


class TlsError(Exception):
    """The files cannot be used. The text says which, and why, in one line."""


@dataclass(frozen=True, slots=True)
class Tls:
    """What a front needs: gRPC the PEM itself, REST the context. `client_ca` is None where any client may come."""

    certificate: bytes
    key: bytes
    client_ca: bytes | None
    context: ssl.SSLContext

    @classmethod
    def read(cls, certificate: str, key: str, client_ca: str = "") -> Self:
        """Reads a certificate with its chain, its key, and (mutual TLS) the authorities of clients' certificates.

        Raises TlsError.
        """
        chain, private = _read(certificate), _read(key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            context.load_cert_chain(certificate, key, password=_no_password)
        except (ssl.SSLError, ValueError) as error:
            text = f"{certificate} and {key} are no certificate with its key: {_said(error)}"
            raise TlsError(text) from error
        authorities = _read(client_ca) if client_ca else None
        if authorities is not None:
            try:
                context.load_verify_locations(client_ca)
            except ssl.SSLError as error:
                raise TlsError(f"{client_ca} holds no certificate of an authority: {_said(error)}") from error
            context.verify_mode = ssl.CERT_REQUIRED
        return cls(chain, private, authorities, context)


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise TlsError(f"{path} cannot be read: {error.strerror}") from error


def _no_password() -> str:
    """Asked for a key that is encrypted; a server must start without a person at hand."""
    raise ValueError("the key is encrypted")


def _said(error: Exception) -> str:
    return (error.reason if isinstance(error, ssl.SSLError) and error.reason else str(error)).lower().replace("_", " ")
