/// Adds up how far the parts of one transfer are.
struct TransferMeter: Sendable {
    private struct PartProgress: Sendable {
        let part: Int
        let bytes: Int64
    }

    private let readings: AsyncStream<PartProgress>.Continuation
    private let sum: Task<Void, Never>

    /// - Parameter observer: called for less than the total only; the end of the transfer reports that.
    init(
        total: Int64, observer: @escaping TransferProgress.Observer,
        spawn: (@escaping @Sendable () async -> Void) -> Task<Void, Never>
    ) {
        let (readings, continuation) = AsyncStream.makeStream(
            of: PartProgress.self, bufferingPolicy: .bufferingNewest(256))
        self.readings = continuation
        sum = spawn {
            var bytes: [Int: Int64] = [:]
            var sum: Int64 = 0
            for await reading in readings {
                sum += reading.bytes - (bytes.updateValue(reading.bytes, forKey: reading.part) ?? 0)
                if sum < total { observer(TransferProgress(bytesDone: sum, bytesTotal: total)) }
            }
        }
    }

    func set(_ part: Int, _ bytes: Int64) { readings.yield(PartProgress(part: part, bytes: bytes)) }

    /// The observer is not called afterwards.
    func end() async {
        readings.finish()
        await sum.value
    }
}
