// swift-tools-version: 6.3
import PackageDescription

let swiftSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    // An async function runs where its caller runs: on the loop, on an actor, or in the app.
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// Targets that touch C: every unsafe expression is marked.
let unsafeSettings = swiftSettings + [.strictMemorySafety()]

// What Apple's App Store reads; elsewhere it would be a bundle that nothing reads.
let privacyManifest = "PrivacyInfo.xcprivacy"
#if os(Linux)
    let (excluded, resources): ([String], [Resource]) = ([privacyManifest], [])
#else
    let (excluded, resources): ([String], [Resource]) = ([], [.process(privacyManifest)])
#endif

let package = Package(
    name: "cloakroom",
    platforms: [.macOS(.v13), .iOS(.v16)],
    products: [
        .executable(name: "cloakroom", targets: ["CloakroomCommand"]),
        .executable(name: "cloakroom-sample", targets: ["CloakroomSample"]),
        .executable(name: "conformance", targets: ["CloakroomConformance"]),
        .executable(name: "answer-fuzz", targets: ["CloakroomAnswerFuzz"]),
        .executable(name: "kit-crash", targets: ["CloakroomKitCrash"]),
        .executable(name: "kit-bench", targets: ["CloakroomKitBench"]),
        .executable(name: "tier-crash", targets: ["CloakroomTierCrash"]),
        .executable(name: "tier-model", targets: ["CloakroomTierModel"]),
        .executable(name: "message-crash", targets: ["CloakroomMessageCrash"]),
        .executable(name: "message-model", targets: ["CloakroomMessageModel"]),
        .executable(name: "message-bench", targets: ["CloakroomMessageBench"]),
        .executable(name: "tier-bench", targets: ["CloakroomTierBench"]),
        .executable(name: "scripted-s3", targets: ["CloakroomScriptedS3Command"]),
        .executable(name: "simulation", targets: ["CloakroomSimulation"]),
        .library(name: "CloakroomKit", targets: ["CloakroomKit"]),
        .library(name: "CloakroomKitTesting", targets: ["CloakroomKitTesting"]),
        .library(name: "CloakroomTiers", targets: ["CloakroomTiers"]),
        .library(name: "CloakroomMessages", targets: ["CloakroomMessages"]),
        .library(name: "CloakroomCurlTransport", targets: ["CloakroomCurlTransport"]),
    ],
    targets: [
        .systemLibrary(name: "CloakroomCFastCGI"),
        .systemLibrary(name: "CloakroomCCurl"),
        .systemLibrary(name: "CloakroomCHiredis"),
        .systemLibrary(name: "CloakroomCOpenSSL"),
        .systemLibrary(name: "CloakroomCLinux"),
        .systemLibrary(name: "CloakroomCSQLite"),

        .target(name: "CloakroomLoop", dependencies: ["CloakroomCLinux"], swiftSettings: unsafeSettings),
        .target(name: "CloakroomHTTP", swiftSettings: swiftSettings),
        // Requests on kept connections to one server: what the clients of FastCGI and of plain HTTP/1.1 share, and the latter.
        .target(
            name: "CloakroomConnections", dependencies: ["CloakroomCLinux", "CloakroomLoop", "CloakroomHTTP"],
            swiftSettings: unsafeSettings),
        .target(
            name: "CloakroomFastCGI",
            dependencies: [
                "CloakroomCFastCGI", "CloakroomCLinux", "CloakroomConnections", "CloakroomLoop", "CloakroomHTTP",
            ],
            swiftSettings: unsafeSettings),
        // What the worker's transport and the kit's both need of libcurl.
        .target(name: "CloakroomLibcurl", dependencies: ["CloakroomCCurl"], swiftSettings: unsafeSettings),
        .target(
            name: "CloakroomCurl",
            dependencies: ["CloakroomCCurl", "CloakroomLibcurl", "CloakroomLoop", "CloakroomHTTP"],
            swiftSettings: unsafeSettings),
        .target(
            name: "CloakroomRedis",
            dependencies: [
                "CloakroomCHiredis", "CloakroomCLinux", "CloakroomCOpenSSL", "CloakroomCrypto", "CloakroomLoop",
            ],
            swiftSettings: unsafeSettings),
        // Apple's systems have CryptoKit.
        .target(
            name: "CloakroomCrypto",
            dependencies: [.target(name: "CloakroomCOpenSSL", condition: .when(platforms: [.linux]))],
            swiftSettings: unsafeSettings),
        .target(
            name: "CloakroomSignatures", dependencies: ["CloakroomCOpenSSL", "CloakroomCrypto"],
            swiftSettings: unsafeSettings),
        .target(name: "CloakroomJSON", dependencies: ["CloakroomHTTP"], swiftSettings: swiftSettings),
        .target(
            name: "CloakroomJOSE", dependencies: ["CloakroomCrypto", "CloakroomSignatures", "CloakroomJSON"],
            swiftSettings: swiftSettings),
        .target(
            name: "CloakroomAWS", dependencies: ["CloakroomCrypto", "CloakroomHTTP", "CloakroomJSON"],
            swiftSettings: swiftSettings),
        .target(
            name: "CloakroomWire", dependencies: ["CloakroomHTTP", "CloakroomJSON"], swiftSettings: swiftSettings),
        // Apple's systems have a module of their own, SQLite3.
        .target(
            name: "CloakroomSQLite",
            dependencies: [.target(name: "CloakroomCSQLite", condition: .when(platforms: [.linux]))],
            swiftSettings: unsafeSettings),
        .target(
            name: "CloakroomKit",
            dependencies: [
                "CloakroomAWS", "CloakroomCrypto", "CloakroomWire", "CloakroomHTTP", "CloakroomSQLite",
            ],
            exclude: excluded, resources: resources, swiftSettings: swiftSettings),
        // A worker and a bucket in memory, for the tests of apps.
        .target(
            name: "CloakroomKitTesting",
            dependencies: ["CloakroomKit", "CloakroomAWS", "CloakroomCrypto", "CloakroomWire"],
            swiftSettings: swiftSettings),
        // Photos on the device and in a cold tier; apps that store all photos in one place go without.
        .target(
            name: "CloakroomTiers",
            dependencies: ["CloakroomKit", "CloakroomAWS", "CloakroomCrypto", "CloakroomSQLite"],
            exclude: excluded, resources: resources, swiftSettings: swiftSettings),
        // Messages that end when both sides agreed that they do.
        .target(
            name: "CloakroomMessages",
            dependencies: ["CloakroomKit", "CloakroomAWS", "CloakroomCrypto", "CloakroomJSON", "CloakroomSQLite"],
            exclude: excluded, resources: resources, swiftSettings: swiftSettings),
        // For Linux, where URLSession takes CPU time while it waits; the kit itself goes without.
        .target(
            name: "CloakroomCurlTransport",
            dependencies: ["CloakroomCCurl", "CloakroomLibcurl", "CloakroomHTTP", "CloakroomKit"],
            swiftSettings: unsafeSettings),
        .target(
            name: "CloakroomServer",
            dependencies: [
                "CloakroomLoop", "CloakroomHTTP", "CloakroomCrypto", "CloakroomSignatures", "CloakroomJOSE",
                "CloakroomAWS", "CloakroomWire", "CloakroomJSON",
                "CloakroomRedis",
            ],
            swiftSettings: swiftSettings),
        // Load tests but for the network: schedules, the open loop, what was measured, reports.
        .target(
            name: "CloakroomLoad",
            dependencies: ["CloakroomCrypto", "CloakroomHTTP", "CloakroomJSON", "CloakroomLoop", "CloakroomWire"],
            swiftSettings: swiftSettings),
        // What the operators' commands need and `serve` does not.
        .target(
            name: "CloakroomOperations",
            dependencies: [
                "CloakroomServer", "CloakroomAWS", "CloakroomCrypto", "CloakroomHTTP", "CloakroomJOSE", "CloakroomJSON",
                "CloakroomLoop", "CloakroomRedis", "CloakroomWire",
            ],
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "CloakroomCommand",
            dependencies: [
                "CloakroomServer", "CloakroomOperations", "CloakroomLoad", "CloakroomAWS", "CloakroomCrypto",
                "CloakroomWire", "CloakroomHTTP", "CloakroomJOSE", "CloakroomLoop", "CloakroomFastCGI",
                "CloakroomConnections", "CloakroomCurl", "CloakroomRedis", "CloakroomSignatures", "CloakroomJSON",
                "CloakroomCLinux",
            ],
            path: "Sources/cloakroom", swiftSettings: swiftSettings),

        .executableTarget(
            name: "CloakroomSample",
            dependencies: [
                "CloakroomKit", "CloakroomTiers", "CloakroomMessages", "CloakroomAWS",
                .target(name: "CloakroomCLinux", condition: .when(platforms: [.linux])),
                .target(name: "CloakroomCurlTransport", condition: .when(platforms: [.linux])),
            ],
            path: "Sources/Examples/cloakroom-sample", swiftSettings: swiftSettings),

        .executableTarget(
            name: "CloakroomConformance",
            dependencies: [
                "CloakroomServer", "CloakroomAWS", "CloakroomJOSE", "CloakroomCrypto", "CloakroomWire", "CloakroomHTTP",
                "CloakroomSignatures", "CloakroomJSON",
            ],
            path: "Tests/Conformance", swiftSettings: swiftSettings),

        .executableTarget(
            name: "CloakroomAnswerFuzz",
            dependencies: [
                "CloakroomAWS", "CloakroomCrypto", "CloakroomHTTP", "CloakroomOperations", "CloakroomRedis",
                "CloakroomServer",
            ],
            path: "Tests/AnswerFuzz", swiftSettings: swiftSettings),

        .testTarget(
            name: "AWSTests",
            dependencies: ["CloakroomAWS", "CloakroomCrypto", "CloakroomHTTP", "CloakroomKitTestSupport"],
            resources: [.copy("Vectors")], swiftSettings: swiftSettings),
        .testTarget(name: "HTTPValuesTests", dependencies: ["CloakroomHTTP"], swiftSettings: swiftSettings),
        .testTarget(
            name: "StrictJSONTests", dependencies: ["CloakroomJSON"], resources: [.copy("Vectors")],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "JOSETests",
            dependencies: [
                "CloakroomJOSE", "CloakroomCrypto", "CloakroomSignatures", "CloakroomJSON", "CloakroomTestSupport",
            ],
            resources: [.copy("Vectors")], swiftSettings: swiftSettings),
        .executableTarget(
            name: "CloakroomKitCrash", dependencies: ["CloakroomAWS", "CloakroomCrypto", "CloakroomKit"],
            path: "Tests/KitCrash", swiftSettings: swiftSettings),
        .executableTarget(
            name: "CloakroomKitBench",
            dependencies: [
                "CloakroomKit", .target(name: "CloakroomCurlTransport", condition: .when(platforms: [.linux])),
            ],
            path: "Tests/KitBench", swiftSettings: swiftSettings),
        // What programs that are measured share.
        .target(name: "CloakroomBenchSupport", path: "Tests/BenchSupport", swiftSettings: swiftSettings),
        // What the kit's tests, those of tiers and their programs share; it runs wherever the kit does.
        .target(
            name: "CloakroomKitTestSupport",
            dependencies: [.target(name: "CloakroomCLinux", condition: .when(platforms: [.linux]))],
            path: "Tests/KitSupport", swiftSettings: swiftSettings),
        .testTarget(
            name: "CloakroomKitTests",
            dependencies: [
                "CloakroomKit", "CloakroomTiers", "CloakroomAWS", "CloakroomCrypto", "CloakroomWire", "CloakroomSQLite",
                "CloakroomKitCrash", "CloakroomKitTestSupport", "CloakroomKitTesting",
                .target(name: "CloakroomCurlTransport", condition: .when(platforms: [.linux])),
                .target(name: "CloakroomTestSupport", condition: .when(platforms: [.linux])),
            ],
            resources: [.copy("Vectors")], swiftSettings: swiftSettings),
        .testTarget(
            name: "CloakroomKitTestingTests", dependencies: ["CloakroomKitTesting", "CloakroomKit"],
            swiftSettings: swiftSettings),
        // A cold tier in memory that fails as it is told, for the tests of tiers.
        .target(
            name: "CloakroomScriptedTier", dependencies: ["CloakroomTiers", "CloakroomKit", "CloakroomCrypto"],
            path: "Tests/ScriptedTier", swiftSettings: swiftSettings),
        .executableTarget(
            name: "CloakroomTierCrash", dependencies: ["CloakroomTiers", "CloakroomKit", "CloakroomScriptedTier"],
            path: "Tests/TierCrash", swiftSettings: swiftSettings),
        .executableTarget(
            name: "CloakroomTierModel",
            dependencies: [
                "CloakroomTiers", "CloakroomKit", "CloakroomCrypto", "CloakroomKitTestSupport", "CloakroomScriptedTier",
            ],
            path: "Tests/TierModel", swiftSettings: swiftSettings),
        .executableTarget(
            name: "CloakroomTierBench",
            dependencies: [
                "CloakroomTiers", "CloakroomKit", "CloakroomBenchSupport", "CloakroomCrypto", "CloakroomKitTestSupport",
                "CloakroomSQLite",
                .target(name: "CloakroomCSQLite", condition: .when(platforms: [.linux])),
                .target(name: "CloakroomCurlTransport", condition: .when(platforms: [.linux])),
            ],
            path: "Tests/TierBench", swiftSettings: swiftSettings),
        .testTarget(
            name: "CloakroomTiersTests",
            dependencies: [
                "CloakroomTiers", "CloakroomKit", "CloakroomCrypto", "CloakroomSQLite",
                "CloakroomKitTestSupport", "CloakroomScriptedTier", "CloakroomTierCrash", "CloakroomTierModel",
            ],
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "CloakroomMessageModel", dependencies: ["CloakroomMessages"], path: "Tests/MessageModel",
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "CloakroomMessageCrash", dependencies: ["CloakroomMessages", "CloakroomKit", "CloakroomAWS"],
            path: "Tests/MessageCrash", swiftSettings: swiftSettings),
        .executableTarget(
            name: "CloakroomMessageBench",
            dependencies: [
                "CloakroomMessages", "CloakroomKit", "CloakroomAWS", "CloakroomBenchSupport",
                "CloakroomKitTestSupport", "CloakroomSQLite",
            ],
            path: "Tests/MessageBench", swiftSettings: swiftSettings),
        .testTarget(
            name: "CloakroomMessagesTests",
            dependencies: [
                "CloakroomMessages", "CloakroomKit", "CloakroomAWS", "CloakroomCrypto",
                "CloakroomJSON", "CloakroomKitTestSupport", "CloakroomSQLite", "CloakroomMessageCrash",
                "CloakroomMessageModel",
            ],
            resources: [.copy("Wire/Golden")], swiftSettings: swiftSettings),
        .testTarget(
            name: "SQLiteTests", dependencies: ["CloakroomSQLite", "CloakroomKitTestSupport"],
            swiftSettings: swiftSettings),
        .testTarget(name: "CloakroomWireTests", dependencies: ["CloakroomWire"], swiftSettings: swiftSettings),
        .testTarget(
            name: "ServiceTests",
            dependencies: [
                "CloakroomServer", "CloakroomOperations", "CloakroomJOSE", "CloakroomAWS", "CloakroomCrypto",
                "CloakroomWire", "CloakroomHTTP",
                "CloakroomSignatures", "CloakroomJSON",
                "CloakroomKitTestSupport", "CloakroomLoop", "CloakroomRedis", "CloakroomTestSupport",
            ],
            exclude: ["Recorded"], swiftSettings: swiftSettings),
        .target(
            name: "CloakroomTestSupport", dependencies: ["CloakroomKitTestSupport", "CloakroomLoop"],
            path: "Tests/Support", swiftSettings: swiftSettings),
        .target(
            name: "CloakroomScriptedS3",
            dependencies: ["CloakroomAWS", "CloakroomCLinux", "CloakroomCrypto", "CloakroomLoop"],
            path: "Tests/ScriptedS3",
            swiftSettings: swiftSettings),
        // What the simulation's process has in place of the C library's clocks, random numbers and stamps of files.
        .target(name: "CloakroomSimulationSystem", path: "Tests/SimulationSystem"),
        .executableTarget(
            name: "CloakroomSimulation",
            dependencies: [
                "CloakroomAWS", "CloakroomCHiredis", "CloakroomCLinux", "CloakroomConnections", "CloakroomCrypto",
                "CloakroomFastCGI", "CloakroomHTTP", "CloakroomJOSE", "CloakroomJSON", "CloakroomKit",
                "CloakroomKitTesting", "CloakroomKitTestSupport", "CloakroomLoop", "CloakroomMessages",
                "CloakroomOperations", "CloakroomRedis", "CloakroomScriptedS3", "CloakroomScriptedTier",
                "CloakroomServer", "CloakroomSimulationSystem", "CloakroomSQLite", "CloakroomTiers", "CloakroomWire",
            ],
            path: "Tests/Simulation",
            exclude: ["Comparison/differences.json", "planted.txt", "regressions.txt", "report.json"],
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "CloakroomScriptedS3Command",
            dependencies: ["CloakroomCLinux", "CloakroomLoop", "CloakroomScriptedS3"], path: "Tests/ScriptedS3Command",
            swiftSettings: swiftSettings),
        .testTarget(
            name: "FastCGITests",
            dependencies: [
                "CloakroomConnections", "CloakroomFastCGI", "CloakroomHTTP", "CloakroomLoop", "CloakroomTestSupport",
            ], swiftSettings: swiftSettings),
        .testTarget(
            name: "AdapterTests",
            dependencies: [
                "CloakroomCommand", "CloakroomConnections", "CloakroomLoad", "CloakroomFastCGI", "CloakroomCurl",
                "CloakroomRedis", "CloakroomLoop", "CloakroomAWS",
                "CloakroomServer", "CloakroomOperations", "CloakroomCrypto", "CloakroomWire", "CloakroomHTTP",
                "CloakroomJOSE", "CloakroomLibcurl", "CloakroomScriptedS3", "CloakroomTestSupport",
            ],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "CloakroomCommand", "CloakroomAWS", "CloakroomCLinux", "CloakroomConnections", "CloakroomCrypto",
                "CloakroomFastCGI", "CloakroomHTTP", "CloakroomJSON", "CloakroomKitTestSupport", "CloakroomLoad",
                "CloakroomLoop", "CloakroomOperations", "CloakroomServer", "CloakroomTestSupport",
            ], swiftSettings: swiftSettings),
        .testTarget(
            name: "LoadTests",
            dependencies: [
                "CloakroomCrypto", "CloakroomJSON", "CloakroomLoad", "CloakroomLoop", "CloakroomTestSupport",
            ],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "LoopTests", dependencies: ["CloakroomKitTestSupport", "CloakroomLoop", "CloakroomTestSupport"],
            swiftSettings: swiftSettings),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "CloakroomAWS", "CloakroomCLinux", "CloakroomCrypto", "CloakroomKit", "CloakroomJOSE",
                "CloakroomScriptedS3", "CloakroomJSON", "CloakroomSQLite", "CloakroomTestSupport", "CloakroomTiers",
            ],
            exclude: ["Clients", "Recorded"],
            swiftSettings: swiftSettings),
        .testTarget(name: "CloakroomCryptoTests", dependencies: ["CloakroomCrypto"], swiftSettings: swiftSettings),
        .testTarget(
            name: "SignaturesTests", dependencies: ["CloakroomCrypto", "CloakroomSignatures", "CloakroomTestSupport"],
            resources: [.copy("Vectors")], swiftSettings: swiftSettings),
    ]
)
