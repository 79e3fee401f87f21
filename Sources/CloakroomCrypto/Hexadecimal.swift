extension [UInt8] {
    /// As the same property of any collection; ten times as fast where no specialisation crosses the module's border.
    package var hexadecimal: String {
        unsafe String(unsafeUninitializedCapacity: 2 * count) { buffer in
            var end = 0
            for byte in self {
                unsafe buffer[end] = digit(byte >> 4)
                unsafe buffer[end + 1] = digit(byte & 15)
                end += 2
            }
            return end
        }
    }
}

private func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
}
