/// The mark that the library of CVE-2017-15361 ("ROCA") left in its RSA keys, whose primes can be computed.
///
/// Its primes are k M + (65537^a mod M), with M the product of the first primes: so is their product, the modulus, and
/// modulo each of those primes it is a power of 65537. Of random moduli, one in 2²⁷ or fewer looks so.
/// Source: Nemec, Sys, Svenda, Klinec, Matyas, "The Return of Coppersmith's Attack", §3.
enum GuessablePrimes {
    static func areIn(_ modulus: [UInt8]) -> Bool {
        powers.allSatisfy { prime, isPower in
            var remainder = 0
            for byte in modulus { remainder = (remainder << 8 | Int(byte)) % prime }
            return isPower[remainder]
        }
    }

    /// By prime, which remainders are powers of 65537.
    private static let powers: [(prime: Int, isPower: [Bool])] = primes.map { prime in
        var isPower = [Bool](repeating: false, count: prime)
        var power = 1
        while !isPower[power] {
            isPower[power] = true
            power = power * 65537 % prime
        }
        return (prime, isPower)
    }

    /// Those of the first 39 primes, which the library uses for 512 bits and more, whose powers of 65537 are not all.
    private static let primes = [11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157]
}
