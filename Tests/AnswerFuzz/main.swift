import Foundation

/// `answer-fuzz [--cases N] [--seconds S] [--seed N]`: ends with 0 when all cases are through and good responses are still
/// read, with 1 when they are not; a trap ends it with a signal. A case is determined by the seed and its number.
var cases = Int.max
var end = Date.distantFuture
var seed: UInt64 = 1
var words = CommandLine.arguments.dropFirst()
while let name = words.popFirst() {
    let number = words.popFirst().flatMap { UInt64($0) }
    switch (name, number) {
    case ("--cases", let number?): cases = Int(clamping: number)
    case ("--seconds", let number?): end = Date(timeIntervalSinceNow: Double(number))
    case ("--seed", let number?): seed = number
    default:
        print("usage: answer-fuzz [--cases N] [--seconds S] [--seed N]")
        exit(2)
    }
}
let fuzz = try AnswerFuzz()
var done = 0
while done < cases, Date.now < end {
    // What a trap leaves behind: the thousand that it was among.
    FileHandle.standardError.write(Data("\rcases from \(done)".utf8))
    for _ in 0..<min(1000, cases - done) {
        await fuzz.run(CaseGenerator(seed: seed, number: done))
        done += 1
    }
    guard await fuzz.isAlive() else {
        print("\ngood responses are no longer read after case \(done - 1) of seed \(seed)")
        exit(1)
    }
}
print("\n\(done) cases of seed \(seed), none ended the process")
