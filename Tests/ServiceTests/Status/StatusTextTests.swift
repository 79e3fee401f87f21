import CloakroomOperations
import Foundation
import Testing

struct StatusTextTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let body = """
        {"time":"2027-01-15T08:00:00Z",
         "all":{"workers":2,"minute":{"milliseconds":60000,"requests":6000,"p50Microseconds":900,"p99Microseconds":12340,"failures":3},
           "sts":{"attempts":12,"p50Microseconds":20000,"p99Microseconds":1500000,"failures":1},"s3":{"attempts":0,"failures":0},
           "cache":{"lookups":3000,"hits":2988}},
         "workers":[
           {"ageMilliseconds":7000,"worker":"unix:/w-2.sock","process":8,"version":"1.2.3","since":"2027-01-14T20:00:00Z",
            "draining":true,"memory":{"residentBytes":31457280,"heapBytes":1},"inFlight":0,
            "minute":{"milliseconds":60000,"requests":0,"failures":0},"sts":{"attempts":0,"failures":0},
            "s3":{"attempts":0,"failures":0},"cache":{"lookups":0,"hits":0},"routes":[],
            "redis":{"ready":false,"kind":"sentinels","role":"unknown","servers":[],"pending":0},
            "breakers":[{"role":"b","state":"open","failures":20},{"role":"main","state":"closed","failures":0}],
            "credentials":[{"profile":"b","provider":"profile","usable":false}],
            "queues":{"credentialsHeld":0,"credentialsAwaited":0,"objectsWaiting":0,"objectsOnTheWay":0,"objectsAllowed":128},
            "faults":{"redis":"no \\u001b[2Jconnection"},
            "failures":[{"level":"warning","message":"request","reason":"redis","count":5,"last":"2027-01-15T07:59:30Z"}]},
           {"ageMilliseconds":0,"worker":"unix:/w-1.sock","process":7,"version":"1.2.3","since":"2027-01-15T07:59:00Z",
            "draining":false,"memory":{"residentBytes":20971520,"heapBytes":1},"inFlight":4,
            "minute":{"milliseconds":60000,"requests":6000,"failures":3},"sts":{"attempts":12,"p50Microseconds":20000,"p99Microseconds":1500000,"failures":1},
            "s3":{"attempts":0,"failures":0},"cache":{"lookups":3000,"hits":2988},
            "routes":[{"route":"/v1/credentials","inFlight":4,"requests":6000,"p50Microseconds":900,"p99Microseconds":12340,"failures":3}],
            "redis":{"ready":true,"kind":"single","role":"primary","servers":["unix:/redis.sock"],"roundTripMicroseconds":210,"pending":2},
            "breakers":[],"credentials":[{"provider":"instance","usable":true,"expires":"2027-01-15T11:30:00Z"}],
            "queues":{"credentialsHeld":10,"credentialsAwaited":1,"objectsWaiting":50,"objectsOnTheWay":64,"objectsAllowed":64},
            "faults":{},"failures":[]}],
         "omitted":1}
        """

    @Test func `is a table for each worker, in the order of their addresses`() throws {
        let status = try #require(StatusText(Array(Self.body.utf8), now: Self.now))
        #expect(
            status.text == """
                all       2 workers, the last 60 s
                requests  100/s, 3 failed, p50 900 µs, p99 12.3 ms
                STS       12 attempts, 1 failed, p50 20 ms, p99 1.5 s
                S3        no attempts
                cache     99.6 % of 3000 look-ups

                unix:/w-1.sock  process 7, version 1.2.3, up 1 min, 4 in flight, 20 MiB
                  route            now  minute  5xx  p50     p99
                  /v1/credentials  4    6000    3    900 µs  12.3 ms
                  Redis   primary, single, unix:/redis.sock, 210 µs, 2 pending
                  STS     12 attempts, 1 failed, p50 20 ms, p99 1.5 s
                  S3      no attempts
                  cache   99.6 % of 3000 look-ups, 10 held
                  queues  50 objects wait, 64 of 64 on the way, 1 STS calls
                  keys    instance, end in 3 h 30 min

                unix:/w-2.sock  process 8, version 1.2.3, up 12 h, 0 in flight, 30 MiB, draining, silent for 7 s
                  Redis      not connected, sentinels, -, 0 pending
                  STS        no attempts
                  S3         no attempts
                  cache      no look-ups, 0 held
                  queues     0 objects wait, 0 of 128 on the way, 0 STS calls
                  keys of b  profile, not usable
                  role       b: open after 20 failures
                  not ready  redis: no [2Jconnection
                  warning    5 × request: redis, last 30 s ago

                1 more workers are not listed
                """)
    }

    @Test(arguments: ["", "[]", "{}", #"{"ready":true}"#, #"{"all":1,"workers":[]}"#, #"{"all":{},"workers":{}}"#])
    func `what is no status is none`(body: String) { #expect(StatusText(Array(body.utf8)) == nil) }

    @Test func `what is missing is no fault`() throws {
        let status = try #require(StatusText(Array(#"{"all":{},"workers":[{},1]}"#.utf8), now: Self.now))
        #expect(status.text.hasPrefix("all       0 workers"))
    }

    /// The response may be another program's.
    @Test(arguments: ["1e300", "-1e300", "9223372036854775807"])
    func `numbers without measure are shown, whatever they are`(number: String) throws {
        let text = """
            {"all":{"minute":{"requests":\(number),"milliseconds":1,"p50Microseconds":\(number),"p99Microseconds":\(number)}},
             "workers":[]}
            """
        #expect(try #require(StatusText(Array(text.utf8), now: Self.now)).text.hasPrefix("all "))
    }
}
