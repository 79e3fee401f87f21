import Dispatch

/// The input is the dice by which responses are changed, of S3, STS, IAM and Redis.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let dice = Dice(bytes: Array(UnsafeBufferPointer(start: start, count: count)))
    let done = DispatchSemaphore(value: 0)
    Task.detached {
        await fuzzer.run(dice)
        done.signal()
    }
    done.wait()
    return 0
}

private let fuzzer: AnswerFuzz = {
    guard let fuzzer = try? AnswerFuzz() else { preconditionFailure("no clients") }
    return fuzzer
}()

/// The bytes, eight at a time, and then ever the same.
private struct Dice: RandomNumberGenerator, Sendable {
    private var bytes: ArraySlice<UInt8>
    private var rest = CaseGenerator(seed: 1, number: 0)

    init(bytes: [UInt8]) { self.bytes = bytes[...] }

    mutating func next() -> UInt64 {
        guard !bytes.isEmpty else { return rest.next() }
        let number = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        bytes = bytes.dropFirst(8)
        return number &* 0x9E37_79B9_7F4A_7C15
    }
}
