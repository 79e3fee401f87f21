"""What a key takes of Redis' memory: itself, and its places in Redis' tables of keys and of expirations."""

import redis
from processes import NotMeasured
from stack import free_port

# Just past where Redis doubles its tables, and has the former ones as well: of no number of keys does each take more.
KEYS = 2**15 + 1

# Keys from ARGV[1] to ARGV[2] at distances of ARGV[3]: like KEYS[1], but for their last characters. The value is written as the
# worker does: a number by INCRBY, a text by SET, a record by HSET.
_FILL = """
local stem = string.sub(KEYS[1], 1, -7)
for number = ARGV[1], ARGV[2], ARGV[3] do
  local key = stem .. string.format('%06d', number)
  redis.call(ARGV[4], key, unpack(ARGV, 6))
  if tonumber(ARGV[5]) > 0 then redis.call('PEXPIRE', key, ARGV[5]) end
end
"""


def bytes_of_key(parts, source, keys, *options):
    """Of keys like these, which the server `source` has, on average, in a server with `options` that has no others."""
    if not keys:
        raise NotMeasured("Redis has none of the keys whose memory was to be measured")
    shapes = [_shape(source, each) for each in keys]
    port = free_port()
    path = parts.run / f"memory-{port}.sock"
    # Else it would go on to move keys to the new tables, and free the former ones.
    process = redis.start(parts, "memory", port, "--activerehashing", "no", "--unixsocket", path, *options)
    try:
        server = redis.RedisCounter(path)
        _fill(server, shapes[:1], 1)
        server.ask("FLUSHALL")
        before = server.figure("memory", "used_memory")
        _fill(server, shapes, KEYS)
        after, found = server.figure("memory", "used_memory"), server.ask("DBSIZE")
        if found != KEYS:
            raise NotMeasured(f"Redis has {found} keys of {KEYS}")
        return (after - before) / KEYS
    finally:
        process.stop()


def _shape(source, key):
    """(key, milliseconds to its expiration, command, arguments): what makes one like it."""
    kind = source.ask("TYPE", key)
    if kind == b"hash":
        return key, source.ask("PTTL", key), "HSET", source.ask("HGETALL", key)
    if kind != b"string":
        raise NotMeasured(f"{key!r} is neither a text nor a record")
    value = source.ask("GET", key)
    return key, source.ask("PTTL", key), "INCRBY" if value.isdigit() else "SET", [value]


def _fill(server, shapes, count):
    for place, (key, milliseconds, command, arguments) in enumerate(shapes[:count]):
        server.ask("EVAL", _FILL, 1, key, place, count - 1, len(shapes), command, milliseconds, *arguments)
