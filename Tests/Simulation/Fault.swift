import CloakroomKitTestSupport
import Foundation

/// What a seed may let go wrong. Each kind draws from a generator of its own, so that leaving one out moves no other.
enum Fault: String, CaseIterable, Sendable {
    case workerKilled, reload, redis, stsOutage, s3Failures, partition, partitionOfOne, revocation, revocationInFailover
    case lostRequests, lostResponses, slowMessages, throttling
    case appKilled, offline, wrongClock, crashLoop
    case powerLoss, diskFull, reinstallation
    case letterLost, letterLate, letterRepeated
    case clockSet, deviceRestarted, vaultLost, vaultLocked, handlerFails

    /// Those that come one after the other, as often as they stand here.
    static let strikes: [Fault] = [
        .workerKilled, .workerKilled, .reload, .redis, .redis, .stsOutage, .s3Failures, .partition, .partitionOfOne,
        .revocation, .revocationInFailover,
    ]

    /// What this run does without: faults, and devices by their names.
    nonisolated(unsafe) static var leftOut: Set<String> = []

    var isLeftOut: Bool { Self.leftOut.contains(rawValue) }
}

extension SeededGenerator {
    /// How long a fault lasts: between any two powers of ten as often, so that most are short, and some are not.
    mutating func seconds(in range: ClosedRange<Double>) -> Double {
        exp(Double.random(in: log(range.lowerBound)...log(range.upperBound), using: &self))
    }
}

/// What a seed decides, part by part: what one part draws moves nothing of another's.
struct Draw {
    let seed: UInt64

    /// FNV-1a (Fowler, Noll and Vo, 1991) of the name, mixed with the seed.
    func generator(_ part: String) -> SeededGenerator {
        var digest: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in part.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
        var mixer = SeededGenerator(seed: seed ^ digest)
        return SeededGenerator(seed: mixer.next())
    }
}
