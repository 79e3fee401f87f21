// swift-tools-version: 6.3
import PackageDescription

/// Names that common packages give their targets, and one C module of a header that the kit has a module of as well.
let names = [
    "AWS", "SotoCore", "SQLite", "GRDB", "Crypto", "JOSE", "Redis", "Logging", "HTTPTypes", "NIO", "Curl", "CSQLite",
    "Support",
]

/// Each protocol that an app may implement, by a class of the main actor, by an actor and by a struct.
let conformers: [Target] = [
    .target(
        name: "Conformers", dependencies: [.product(name: "CloakroomKit", package: "cloakroom")],
        swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]),
    // The same sources (a symbolic link) as in an app of which all belongs to the main actor, unless it says otherwise.
    .target(
        name: "MainActorConformers", dependencies: [.product(name: "CloakroomKit", package: "cloakroom")],
        swiftSettings: [
            .swiftLanguageMode(.v6), .treatAllWarnings(as: .error), .defaultIsolation(MainActor.self),
            .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            .enableUpcomingFeature("InferIsolatedConformances"),
        ]),
]

/// An app's tests, of what it does with the kit.
let appTests = Target.target(
    name: "AppTests",
    dependencies: [
        .product(name: "CloakroomKit", package: "cloakroom"),
        .product(name: "CloakroomKitTesting", package: "cloakroom"),
    ], swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)])

/// An app beside other packages: that all of this resolves, builds and links is the test (`deploy/checks/consumer`).
let package = Package(
    name: "consumer",
    platforms: [.macOS(.v13), .iOS(.v16)],
    dependencies: [.package(name: "cloakroom", path: "../.."), .package(name: "stand-ins", path: "StandIns")],
    targets: [
        .executableTarget(
            name: "consumer",
            dependencies: [
                "AppTests", "Conformers", "MainActorConformers",
                .product(name: "CloakroomKit", package: "cloakroom"),
                .product(name: "CloakroomCurlTransport", package: "cloakroom", condition: .when(platforms: [.linux])),
            ] + names.map { .product(name: $0, package: "stand-ins") },
            swiftSettings: [.treatAllWarnings(as: .error)])
    ] + conformers + [appTests]
)
