import CloakroomOperations
import Foundation
import Testing

@testable import CloakroomCommand

struct ValidationOptionsTests {
    private static let location = BucketLocation(bucket: "b", endpoint: "https://s3.example", region: "eu-west-1")

    private func mismatch(
        _ words: [String], _ location: BucketLocation = location,
        change: (inout LifecycleValidation.Plan) -> Void = { _ in }
    ) throws -> String? {
        var plan = LifecycleValidation.Plan(
            id: "0123456789ab", bucket: "b", ownsBucket: false, location: Self.location, days: 2,
            clock: ExpirationClock(dayLength: .seconds(10)), grace: .seconds(60), pairs: 4,
            started: Date(timeIntervalSince1970: 1_800_000_000))
        change(&plan)
        let options = try Options(words, of: LifecycleValidate.syntax)
        return try LifecycleValidate.ValidationOptions(options).mismatch(plan, location)
    }

    @Test(
        arguments: [
            [], ["--once"], ["--bucket", "b", "--days", "2", "--pairs", "4", "--grace", "1m", "--day-length", "10s"],
        ] as [[String]])
    func `a run goes on with its own options, and without any`(words: [String]) throws {
        #expect(try mismatch(words) == nil)
    }

    @Test(arguments: [
        ("--days", "5"), ("--days", "1"), ("--pairs", "3"), ("--grace", "2m"), ("--day-length", "1d"),
    ])
    func `a run does not go on with other options`(name: String, value: String) throws {
        #expect(try mismatch([name, value]) == "belongs to a run with another \(name)")
    }

    @Test func `the days of the bucket's own rule are not those of the command line`() throws {
        #expect(try mismatch(["--days", "2"], change: { $0.days = 30 }) == nil)
        #expect(try mismatch(["--days", "30"], change: { $0.days = 30 }) != nil)
    }

    @Test func `a run does not go on with another store or bucket`() throws {
        for (endpoint, region) in [("https://other.example", "eu-west-1"), ("https://s3.example", "eu-west-2")] {
            let other = BucketLocation(bucket: "b", endpoint: endpoint, region: region)
            let sentence = "belongs to a run at https://s3.example, Region eu-west-1, whose rule and objects are there"
            #expect(try mismatch([], other) == sentence)
            #expect(try mismatch([], other, change: { $0.location = nil }) == nil, "earlier versions tell no store")
        }
        #expect(try mismatch(["--bucket", "c"]) == "belongs to a run on b")
    }
}
