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
        .executable(name: "cloakroom", targets: ["cloakroom"]),
        .library(name: "CloakroomKit", targets: ["CloakroomKit"]),
        .library(name: "CloakroomCurlTransport", targets: ["CurlTransport"]),
    ],
    targets: [
        .systemLibrary(name: "CFastCGI"),
        .systemLibrary(name: "CCurl"),
        .systemLibrary(name: "CHiredis"),
        .systemLibrary(name: "COpenSSL"),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CSQLite"),

        .target(name: "Loop", dependencies: ["CLinux"], swiftSettings: border),
        .target(name: "HTTPValues", swiftSettings: house),
        .target(name: "FastCGI", dependencies: ["CFastCGI", "CLinux", "Loop", "HTTPValues"], swiftSettings: border),
        .target(name: "Curl", dependencies: ["CCurl", "Loop", "HTTPValues"], swiftSettings: border),
        .target(name: "Redis", dependencies: ["CHiredis", "CLinux", "COpenSSL", "Loop"], swiftSettings: border),
        // Apple's systems have CryptoKit.
        .target(
            name: "CloakroomCrypto", dependencies: [.target(name: "COpenSSL", condition: .when(platforms: [.linux]))],
            swiftSettings: border),
        .target(name: "Signatures", dependencies: ["COpenSSL", "CloakroomCrypto"], swiftSettings: border),
        .target(name: "StrictJSON", swiftSettings: house),
        .target(name: "JOSE", dependencies: ["CloakroomCrypto", "Signatures", "StrictJSON"], swiftSettings: house),
        .target(
            name: "AWS", dependencies: ["CloakroomCrypto", "HTTPValues", "StrictJSON"], swiftSettings: house),
        .target(name: "CloakroomWire", dependencies: ["StrictJSON"], swiftSettings: house),
        // Apple's systems have a module of their own, SQLite3.
        .target(
            name: "SQLite", dependencies: [.target(name: "CSQLite", condition: .when(platforms: [.linux]))],
            swiftSettings: border),
        .target(
            name: "CloakroomKit",
            dependencies: ["AWS", "CloakroomCrypto", "CloakroomWire", "HTTPValues", "SQLite", "StrictJSON"],
            swiftSettings: house),
        // For Linux, where URLSession takes CPU time while it waits; the kit itself goes without.
        .target(name: "CurlTransport", dependencies: ["CCurl", "CloakroomKit"], swiftSettings: border),
        .target(
            name: "Service",
            dependencies: [
                "Loop", "HTTPValues", "CloakroomCrypto", "Signatures", "JOSE", "AWS", "CloakroomWire", "StrictJSON",
                "Redis",
            ],
            swiftSettings: house),
        .executableTarget(
            name: "cloakroom",
            dependencies: [
                "Service", "AWS", "CloakroomCrypto", "CloakroomWire", "HTTPValues", "JOSE", "Loop", "FastCGI", "Curl",
                "Redis", "StrictJSON", "CLinux",
            ],
            swiftSettings: house),

        .executableTarget(
            name: "cloakroom-sample",
            dependencies: [
                "CloakroomKit", .target(name: "CLinux", condition: .when(platforms: [.linux])),
                .target(name: "CurlTransport", condition: .when(platforms: [.linux])),
            ],
            path: "Sources/Examples/cloakroom-sample", swiftSettings: house),

        .executableTarget(
            name: "conformance",
            dependencies: [
                "Service", "AWS", "JOSE", "CloakroomCrypto", "CloakroomWire", "HTTPValues", "Signatures", "StrictJSON",
            ],
            path: "Tests/Conformance", swiftSettings: house),

        .executableTarget(
            name: "answer-fuzz",
            dependencies: ["AWS", "CloakroomCrypto", "HTTPValues", "Redis", "Service"],
            path: "Tests/AnswerFuzz", swiftSettings: house),

        .testTarget(
            name: "AWSTests", dependencies: ["AWS", "CloakroomCrypto", "HTTPValues"],
            resources: [.copy("Vectors")], swiftSettings: house),
        .testTarget(name: "HTTPValuesTests", dependencies: ["HTTPValues"], swiftSettings: house),
        .testTarget(
            name: "StrictJSONTests", dependencies: ["StrictJSON"], resources: [.copy("Vectors")], swiftSettings: house),
        .testTarget(
            name: "JOSETests", dependencies: ["JOSE", "CloakroomCrypto", "Signatures", "StrictJSON", "Support"],
            resources: [.copy("Vectors")], swiftSettings: house),
        .executableTarget(
            name: "kit-crash", dependencies: ["AWS", "CloakroomKit"], path: "Tests/KitCrash", swiftSettings: house),
        .executableTarget(
            name: "kit-bench",
            dependencies: ["CloakroomKit", .target(name: "CurlTransport", condition: .when(platforms: [.linux]))],
            path: "Tests/KitBench", swiftSettings: house),
        .testTarget(
            name: "CloakroomKitTests",
            dependencies: [
                "CloakroomKit", "AWS", "CloakroomCrypto", "CloakroomWire", "HTTPValues", "SQLite", "kit-crash",
                .target(name: "CurlTransport", condition: .when(platforms: [.linux])),
                .target(name: "Support", condition: .when(platforms: [.linux])),
            ],
            resources: [.copy("Vectors")], swiftSettings: house),
        .testTarget(name: "SQLiteTests", dependencies: ["SQLite"], swiftSettings: house),
        .testTarget(name: "CloakroomWireTests", dependencies: ["CloakroomWire"], swiftSettings: house),
        .testTarget(
            name: "ServiceTests",
            dependencies: [
                "Service", "JOSE", "AWS", "CloakroomCrypto", "CloakroomWire", "HTTPValues", "Signatures", "StrictJSON",
                "Loop", "Support",
            ],
            exclude: ["Recorded"], swiftSettings: house),
        .target(name: "Support", dependencies: ["Loop"], path: "Tests/Support", swiftSettings: house),
        .target(
            name: "ScriptedS3", dependencies: ["CLinux", "CloakroomCrypto", "Loop"], path: "Tests/ScriptedS3",
            swiftSettings: house),
        .executableTarget(
            name: "scripted-s3", dependencies: ["CLinux", "Loop", "ScriptedS3"], path: "Tests/ScriptedS3Command",
            swiftSettings: house),
        .testTarget(
            name: "FastCGITests", dependencies: ["FastCGI", "HTTPValues", "Loop", "Support"], swiftSettings: house),
        .testTarget(
            name: "AdapterTests",
            dependencies: [
                "FastCGI", "Curl", "Redis", "Loop", "AWS", "Service", "CloakroomCrypto", "CloakroomWire", "HTTPValues",
                "JOSE", "ScriptedS3", "Support",
            ],
            swiftSettings: house),
        .testTarget(
            name: "CommandTests",
            dependencies: ["cloakroom", "CLinux", "FastCGI", "Loop", "Service", "Support"], swiftSettings: house),
        .testTarget(name: "LoopTests", dependencies: ["Loop", "Support"], swiftSettings: house),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "AWS", "CLinux", "CloakroomCrypto", "CloakroomKit", "JOSE", "ScriptedS3", "StrictJSON", "Support",
            ],
            exclude: ["Clients", "Recorded"],
            swiftSettings: house),
        .testTarget(name: "CloakroomCryptoTests", dependencies: ["CloakroomCrypto"], swiftSettings: house),
        .testTarget(
            name: "SignaturesTests", dependencies: ["CloakroomCrypto", "Signatures", "Support"],
            resources: [.copy("Vectors")], swiftSettings: house),
    ]
)
