-- For wrk: sends the requests of a file in turn, and prints one line of numbers at the end.
-- Arguments: the file, and how many of its requests came before, so that a run goes on where another ended.
-- The file holds each request as its length in bytes, a line break, and the request.

local requests, turn = {}, 0

function init(arguments)
   local file = assert(io.open(arguments[1], "rb"))
   while true do
      local length = file:read("*n")
      if not length then break end
      file:read(1)
      requests[#requests + 1] = file:read(length)
   end
   file:close()
   turn = tonumber(arguments[2])
end

function request()
   turn = turn % #requests + 1
   return requests[turn]
end

function done(summary, latency)
   local errors = summary.errors
   io.write(string.format(
      "numbers %d %d %d %d %d %d %d %d %d\n",
      summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
      errors.connect, errors.read, errors.write, errors.timeout, errors.status))
end
