import CloakroomCLinux
import Foundation
import CloakroomLoop
import CloakroomScriptedS3

let usage = """
    scripted-s3: an S3 in memory that answers as AWS does, for benches and for trying things by hand

    Usage: scripted-s3 [--listen HOST:PORT] [--bucket NAME] [--region NAME] [--latency-milliseconds N]
                       [--day-length SECONDS[s]] [--faults SHARE[:NAME,NAME…]] [--seed N] [--no-log]

      --listen    default 127.0.0.1:9090
      --bucket    is there from the start; default photos
      --region    default eu-west-1
      --latency-milliseconds  before each answer; default 0
      --day-length            of lifecycle rules; default 86400
      --faults    this share of the requests meets a fault, one of these or of all: 0.05 or 0.05:slowDown,reset
      --seed      of the dice; default 1
      --no-log    keeps no list of requests

    Signatures are checked against SCRIPTED_ACCESS_KEY_ID (default AKIDSCRIPTED), SCRIPTED_SECRET_ACCESS_KEY (default
    scripted-secret) and, where it is set, SCRIPTED_SESSION_TOKEN. Seeding and asking by HTTP: PUT /_scripted/objects,
    PUT and DELETE /_scripted/mix, GET /_scripted/truth, GET and DELETE /_scripted/counts.
    Faults: \(S3Fault.allCases.map(\.rawValue).joined(separator: " "))

    Example: scripted-s3 --listen 127.0.0.1:9090 --day-length 1s --faults 0.02:slowDown,okWithError
    """

func fail(_ text: String) -> Never {
    FileHandle.standardError.write(Data("scripted-s3: \(text) (see scripted-s3 --help)\n".utf8))
    exit(2)
}

var options = ScriptedS3.Options()
var (host, port) = ("127.0.0.1", UInt16(9090))
var share = 0.0
var seed: UInt64 = 1
var faults = S3Fault.allCases

let environment = ProcessInfo.processInfo.environment
if let id = environment["SCRIPTED_ACCESS_KEY_ID"] { options.identity.accessKeyID = id }
if let secret = environment["SCRIPTED_SECRET_ACCESS_KEY"] { options.identity.secretAccessKey = secret }
options.identity.sessionToken = environment["SCRIPTED_SESSION_TOKEN"]

var words = CommandLine.arguments.dropFirst()
while let word = words.popFirst() {
    if word == "--help" || word == "-h" {
        print(usage)
        exit(0)
    }
    if word == "--no-log" {
        options.keepsRequests = false
        continue
    }
    guard let value = words.popFirst() else { fail("\(word) needs a value, or is no option") }
    switch word {
    case "--listen":
        let parts = value.split(separator: ":")
        guard parts.count == 2, let number = UInt16(parts[1]) else { fail("--listen takes HOST:PORT, not '\(value)'") }
        (host, port) = (String(parts[0]), number)
    case "--bucket": options.bucket = value
    case "--region": options.region = value
    case "--latency-milliseconds":
        guard let number = Int(value), number >= 0 else { fail("--latency-milliseconds takes a number") }
        options.latency = .milliseconds(number)
    case "--day-length":
        guard let number = Double(value.hasSuffix("s") ? String(value.dropLast()) : value), number > 0 else {
            fail("--day-length takes seconds, such as 1s")
        }
        options.dayLength = number
    case "--seed":
        guard let number = UInt64(value) else { fail("--seed takes a number") }
        seed = number
    case "--faults":
        let parts = value.split(separator: ":", maxSplits: 1)
        guard let number = Double(parts.first ?? ""), (0...1).contains(number) else {
            fail("--faults begins with a share from 0 to 1")
        }
        share = number
        guard parts.count > 1 else { continue }
        faults = parts[1].split(separator: ",").map { name in
            guard let fault = S3Fault(rawValue: String(name)) else { fail("no fault is called '\(name)'") }
            return fault
        }
    default: fail("unknown option '\(word)'")
    }
}

signal(SIGPIPE, SIG_IGN)
do {
    let server = try ScriptedS3(options, host: host, port: port)
    if share > 0 { server.mix(FaultMix(share: share, seed: seed, faults: faults)) }
    print("listening on http://\(host):\(server.port), bucket \(options.bucket)")
    fflush(nil)
    exit(
        LoopActor.run {
            await withUnsafeContinuation { (_: UnsafeContinuation<Int32, Never>) in withExtendedLifetime(server) {} }
        })
} catch {
    FileHandle.standardError.write(Data("scripted-s3: cannot listen on \(host):\(port): \(error)\n".utf8))
    exit(1)
}
