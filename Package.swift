// swift-tools-version: 6.2
import PackageDescription

let house: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    // An async function runs where its caller runs: on the loop, on an actor, or in the app.
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// Targets that touch C: every unsafe expression is marked.
let border = house + [.strictMemorySafety()]

let package = Package(
    name: "cloakroom",
    platforms: [.macOS(.v13), .iOS(.v16)],
    products: [
        .executable(name: "cloakroom", targets: ["cloakroom"])
    ],
    targets: [
        .systemLibrary(name: "CFastCGI"),
        .systemLibrary(name: "CCurl"),
        .systemLibrary(name: "CHiredis"),
        .systemLibrary(name: "COpenSSL"),
        .systemLibrary(name: "CLinux"),

        .target(name: "Loop", dependencies: ["CLinux"], swiftSettings: border),
        .target(name: "HTTPValues", swiftSettings: house),
        .target(name: "FastCGI", dependencies: ["CFastCGI", "CLinux", "Loop", "HTTPValues"], swiftSettings: border),
        .target(name: "Curl", dependencies: ["CCurl", "Loop", "HTTPValues"], swiftSettings: border),
        .target(name: "Redis", dependencies: ["CHiredis", "CLinux", "Loop"], swiftSettings: border),
        .target(name: "CloakroomCrypto", dependencies: ["COpenSSL"], swiftSettings: border),
        .target(name: "JOSE", dependencies: ["CloakroomCrypto"], swiftSettings: house),
        .target(name: "AWS", dependencies: ["CloakroomCrypto", "HTTPValues"], swiftSettings: house),
        .target(name: "CloakroomWire", swiftSettings: house),
        .target(
            name: "Service",
            dependencies: ["Loop", "HTTPValues", "CloakroomCrypto", "JOSE", "AWS", "CloakroomWire", "Redis"],
            swiftSettings: house),
        .executableTarget(
            name: "cloakroom",
            dependencies: ["Service", "Loop", "FastCGI", "Curl", "Redis", "CLinux"],
            swiftSettings: house),

        .executableTarget(
            name: "conformance",
            dependencies: ["Service", "AWS", "JOSE", "CloakroomCrypto", "CloakroomWire", "HTTPValues"],
            path: "Tests/Conformance", swiftSettings: house),

        .testTarget(name: "HTTPValuesTests", dependencies: ["HTTPValues"], swiftSettings: house),
        .target(name: "Support", dependencies: ["Loop"], path: "Tests/Support", swiftSettings: house),
        .testTarget(name: "LoopTests", dependencies: ["Loop", "Support"], swiftSettings: house),
        .testTarget(name: "CloakroomCryptoTests", dependencies: ["CloakroomCrypto"], swiftSettings: house),
    ]
)
