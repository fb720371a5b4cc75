"""Tables and batches as bytes: msgpack, positional, headed by the number of the schema.

Each encoder and decoder is built once. A record of a newer schema is refused, even where it could be read: writing
back what was read would lose what the newer release has added.
"""

import msgspec

from engine.state import SCHEMA as STATE_SCHEMA
from service.store.errors import BadRecord, NewerTable
from service.store.table import SCHEMA, Batch, Table

__all__ = ["decode_batch", "decode_table", "encode_batch", "encode_table"]


def encode_table(table: Table) -> bytes:
    """The table as bytes."""
    return _encoder.encode(table)


def encode_batch(batch: Batch) -> bytes:
    """The batch as bytes."""
    return _encoder.encode(batch)


def decode_table(data: bytes) -> Table:
    """The table that `encode_table` made the bytes of. Raises NewerTable, or BadRecord where it is none at all."""
    try:
        table = _tables.decode(data)
    except msgspec.MsgspecError as error:
        raise _refusal(data, "table", error) from error
    _check(table.schema, SCHEMA)
    if table.match is not None:
        _check(table.match.schema, STATE_SCHEMA)
    return table


def decode_batch(data: bytes) -> Batch:
    """The batch that `encode_batch` made the bytes of. Raises NewerTable, or BadRecord where it is none at all."""
    try:
        batch = _batches.decode(data)
    except msgspec.MsgspecError as error:
        raise _refusal(data, "batch", error) from error
    _check(batch.schema, SCHEMA)
    return batch


class _Head(msgspec.Struct, array_like=True):
    """The start of every record, whatever follows it."""

    schema: int


def _check(found: int, known: int) -> None:
    if found > known:
        raise NewerTable(found, known)


def _refusal(data: bytes, what: str, error: msgspec.MsgspecError) -> NewerTable | BadRecord:
    """Why bytes that could not be decoded are refused. The cause names a place, never a value: values are secret."""
    try:
        found = _heads.decode(data).schema
    except msgspec.MsgspecError:
        found = 0
    return NewerTable(found, SCHEMA) if found > SCHEMA else BadRecord(f"not a {what}: {error}")


_encoder = msgspec.msgpack.Encoder()
_tables = msgspec.msgpack.Decoder(Table)
_batches = msgspec.msgpack.Decoder(Batch)
_heads = msgspec.msgpack.Decoder(_Head)
