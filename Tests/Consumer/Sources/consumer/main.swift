import AWS
import AppTests
import CSQLite
import CloakroomCurlTransport
import CloakroomKit
import Conformers
import Crypto
import Curl
import Foundation
import GRDB
import HTTPTypes
import JOSE
import Logging
import MainActorConformers
import NIO
import Redis
import SQLite
import SotoCore
import Support

/// Vends once at the address that is its argument, with every other package linked.
let others = [
    nameOfAWS, nameOfSotoCore, nameOfSQLite, nameOfGRDB, nameOfCrypto, nameOfJOSE, nameOfRedis, nameOfLogging,
    nameOfHTTPTypes, nameOfNIO, nameOfCurl, nameOfSupport, "C module \(sqlite3_libversion_number())",
]
print("beside", others.joined(separator: ", "))
guard CommandLine.arguments.count == 2, let endpoint = URL(string: CommandLine.arguments[1]) else {
    print("Usage: consumer URL")
    exit(2)
}
let client = CloakroomClient(endpoint: endpoint, transport: CurlTransport()) { "consumer-token" }
let credentials = try await client.vendCredentials()
print("vended", credentials.accessKeyID)
// A database by the kit's own C module of the same header.
let file = FileManager.default.temporaryDirectory.appendingPathComponent("consumer-\(UUID().uuidString).sqlite")
_ = try SQLiteRenewalStore(at: file, owner: StoreOwner(user: "u_1", endpoint: endpoint))
print("stored", FileManager.default.fileExists(atPath: file.path))
try FileManager.default.removeItem(at: file)
// Each protocol of the kit by a class of the main actor, an actor and a struct.
let photo = FileManager.default.temporaryDirectory.appendingPathComponent("consumer-\(UUID().uuidString).jpg")
try Data("photo".utf8).write(to: photo)
for parts in [Conformers.ViewModel(), Conformers.Database(), Conformers.Value()] as [any Conformers.AppParts] {
    print("parts", try await Conformers.outcome(of: parts, photo: photo))
}
for parts in [
    MainActorConformers.ViewModel(), MainActorConformers.Database(), MainActorConformers.Value(),
] as [any MainActorConformers.AppParts] {
    print("parts", try await MainActorConformers.outcome(of: parts, photo: photo))
}
// And what an app's tests have.
let folder = FileManager.default.temporaryDirectory.appendingPathComponent("consumer-\(UUID().uuidString)")
print("tests", try await outcomeOfAppTests(photo: photo, folder: folder))
try FileManager.default.removeItem(at: folder)
try FileManager.default.removeItem(at: photo)
