extension String {
    /// As wide as a column, or as it is where it is wider.
    func padding(to width: Int) -> String {
        count >= width ? self : self + String(repeating: " ", count: width - count)
    }
}
