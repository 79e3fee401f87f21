import Testing

@testable import CloakroomServer

struct GenerationalCacheTests {
    @Test func `keeps what is looked up, and no more than it may`() {
        var cache = GenerationalCache<Int, String>(capacity: 10)
        cache.insert("first", for: 0)
        for number in 1...1000 {
            cache.insert("\(number)", for: number)
            #expect(cache.value(for: number) == "\(number)")
            if number.isMultiple(of: 4) { #expect(cache.value(for: 0) == "first") }
            #expect(cache.count <= 10)
        }
        #expect(cache.peek(1) == nil && cache.peek(1000) == "1000")
    }

    @Test func `forgets both generations`() {
        var cache = GenerationalCache<Int, Int>(capacity: 4)
        for number in 1...3 { cache.insert(number, for: number) }
        cache.removeAll()
        #expect(cache.count == 0 && (1...3).allSatisfy { cache.peek($0) == nil })
    }

    @Test func `a new value for a key that is held drops no other`() {
        var cache = GenerationalCache<String, Int>(capacity: 4)
        // The young generation is full with the last two.
        for key in ["a", "b", "c", "d"] { cache.insert(1, for: key) }
        for number in 2...10 { cache.insert(number, for: "c") }
        #expect(["a", "b", "c", "d"].map { cache.peek($0) } == [1, 1, 10, 1])
        cache.insert(1, for: "e")
        #expect(["a", "b", "c", "d"].map { cache.peek($0) } == [nil, nil, 10, 1])
    }

    @Test func `gives only what is good, and keeps the rest for who takes it as it is`() {
        var cache = GenerationalCache<String, Int>(capacity: 2)
        cache.insert(1, for: "a")
        #expect(cache.value(for: "a", where: { $0 > 1 }) == nil)
        cache.insert(2, for: "b")
        #expect(cache.value(for: "a", where: { $0 > 1 }) == nil && cache.peek("a") == 1)
        #expect(cache.value(for: "a") == 1 && cache.peek("b") == 2)
        cache.remove("a")
        cache.remove("b")
        #expect(cache.peek("a") == nil && cache.peek("b") == nil && cache.count == 0)
    }

    @Test func `holds one of each generation at least`() {
        var cache = GenerationalCache<Int, Int>(capacity: 1)
        for number in 1...3 { cache.insert(number, for: number) }
        #expect([1, 2, 3].map { cache.peek($0) } == [nil, 2, 3])
    }
}
