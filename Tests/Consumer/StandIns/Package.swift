// swift-tools-version: 6.3
import PackageDescription

let names = [
    "AWS", "SotoCore", "SQLite", "GRDB", "Crypto", "JOSE", "Redis", "Logging", "HTTPTypes", "NIO", "Curl", "Support",
]

let package = Package(
    name: "stand-ins",
    products: (names + ["CSQLite"]).map { .library(name: $0, targets: [$0]) },
    targets: [.systemLibrary(name: "CSQLite")]
        + names.map { .target(name: $0, dependencies: $0 == "GRDB" ? ["CSQLite"] : []) }
)
