// swift-tools-version: 6.3
import PackageDescription

/// Names that common packages give their targets, and one C module of a header that the kit has a module of as well.
let names = [
    "AWS", "SotoCore", "SQLite", "GRDB", "Crypto", "JOSE", "Redis", "Logging", "HTTPTypes", "NIO", "Curl", "CSQLite",
    "Support",
]

/// An app beside other packages: that all of this resolves, builds and links is the test (`deploy/checks/consumer`).
let package = Package(
    name: "consumer",
    platforms: [.macOS(.v13), .iOS(.v16)],
    dependencies: [.package(name: "cloakroom", path: "../.."), .package(name: "stand-ins", path: "StandIns")],
    targets: [
        .executableTarget(
            name: "consumer",
            dependencies: [
                .product(name: "CloakroomKit", package: "cloakroom"),
                .product(name: "CloakroomCurlTransport", package: "cloakroom", condition: .when(platforms: [.linux])),
            ] + names.map { .product(name: $0, package: "stand-ins") })
    ]
)
