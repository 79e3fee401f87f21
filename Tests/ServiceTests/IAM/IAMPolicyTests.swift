import CloakroomJSON
import CloakroomTestSupport
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

/// What IAM would say, from its documentation.
struct IAMPolicyTests {
    private func policy(_ statements: String...) throws -> IAMPolicy {
        let text = #"{"Version":"2012-10-17","Statement":[\#(statements.joined(separator: ","))]}"#
        return try IAMPolicy(try JSON(parsing: Array(text.utf8)))
    }

    private func decision(
        _ statements: [String], _ action: String, _ resource: String = "arn:aws:s3:::b/k",
        _ context: [String: [String]] = [:]
    ) throws -> IAMDecision {
        let text = #"{"Version":"2012-10-17","Statement":[\#(statements.joined(separator: ","))]}"#
        return try IAMPolicy(try JSON(parsing: Array(text.utf8)))
            .decision(on: IAMRequest(action, resource, context: context))
    }

    @Test func `allows what a statement allows, and nothing that none speaks of`() throws {
        let allow = [#"{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::b/k"}"#]
        #expect(try decision(allow, "s3:GetObject") == .allowed)
        #expect(try decision(allow, "s3:PutObject") == .notAllowed)
        #expect(try decision(allow, "s3:GetObject", "arn:aws:s3:::b/k2") == .notAllowed)
    }

    @Test func `lets a denial win over whatever allows`() throws {
        let both = [
            #"{"Effect":"Allow","Action":"*","Resource":"*"}"#,
            #"{"Effect":"Deny","Action":"s3:Delete*","Resource":"*"}"#,
        ]
        #expect(try decision(both, "s3:DeleteObject") == .denied)
        #expect(try decision(both.reversed(), "s3:DeleteObject") == .denied)
        #expect(try decision(both, "s3:GetObject") == .allowed)
    }

    @Test(arguments: [
        ("s3:GetObject", "s3:getobject", true), ("S3:GET*", "s3:GetObjectAttributes", true), ("s3:*", "sts:X", false),
        ("s3:Get?bject", "s3:GetObject", true), ("s3:Get?", "s3:GetObject", false), ("*", "iam:PassRole", true),
        ("s3:${aws:username}", "s3:joe", false),
    ])
    func `compares actions without regard to case, with wildcards and without variables`(
        pattern: String, action: String, expected: Bool
    ) throws {
        let statement = #"{"Effect":"Allow","Action":"\#(pattern)","Resource":"*"}"#
        let found = try decision([statement], action, "x", ["aws:username": ["joe"]])
        #expect(found == (expected ? .allowed : .notAllowed))
    }

    @Test(arguments: [
        ("arn:aws:s3:::b/*", "arn:aws:s3:::b/", true), ("arn:aws:s3:::b/*", "arn:aws:s3:::b/a/b/c", true),
        ("arn:aws:s3:::b/*", "arn:aws:s3:::B/a", false), ("arn:aws:s3:::b/*", "arn:aws:s3:::b", false),
        ("arn:aws:s3:::b/a?c", "arn:aws:s3:::b/aéc", true), ("arn:aws:s3:::b/a?c", "arn:aws:s3:::b/ac", false),
        ("arn:aws:s3:::b/*a*b", "arn:aws:s3:::b/abaab", true), ("arn:aws:s3:::b/*a*b", "arn:aws:s3:::b/aba", false),
        ("arn:aws:s3:::b/${aws:PrincipalTag/UserId}/*", "arn:aws:s3:::b/u_1/x", true),
        ("arn:aws:s3:::b/${AWS:principaltag/userid}/*", "arn:aws:s3:::b/u_1/x", true),
        ("arn:aws:s3:::b/${aws:PrincipalTag/UserId}/*", "arn:aws:s3:::b/u_10/x", false),
        ("arn:aws:s3:::b/${aws:PrincipalTag/Star}/*", "arn:aws:s3:::b/u_2/x", false),
        ("arn:aws:s3:::b/${aws:PrincipalTag/Star}/*", "arn:aws:s3:::b/*/x", true),
        ("arn:aws:s3:::b/${aws:PrincipalTag/Absent}/*", "arn:aws:s3:::b//x", false),
        ("arn:aws:s3:::b/${aws:PrincipalTag/Absent, 'team'}/*", "arn:aws:s3:::b/team/x", true),
        ("arn:aws:s3:::b/${*}/${?}${$}", "arn:aws:s3:::b/*/?$", true),
        ("arn:aws:s3:::b/${*}", "arn:aws:s3:::b/x", false),
        ("arn:aws:s3:::b/${open", "arn:aws:s3:::b/${open", true),
    ])
    func `compares resources with case, wildcards and variables, whose values are plain`(
        pattern: String, resource: String, expected: Bool
    ) throws {
        let statement = #"{"Effect":"Allow","Action":"s3:GetObject","Resource":"\#(pattern)"}"#
        let tags = ["aws:PrincipalTag/UserId": ["u_1"], "aws:PrincipalTag/Star": ["*"]]
        #expect(try decision([statement], "s3:GetObject", resource, tags) == (expected ? .allowed : .notAllowed))
    }

    @Test(arguments: [
        (#"{"StringEquals":{"k":"a*"}}"#, "a*", true), (#"{"StringEquals":{"k":"a*"}}"#, "ab", false),
        (#"{"StringEquals":{"k":["a","b"]}}"#, "b", true), (#"{"StringEquals":{"k":"a"}}"#, "A", false),
        (#"{"StringEqualsIgnoreCase":{"K":"a"}}"#, "A", true), (#"{"StringLike":{"k":"a*"}}"#, "abc", true),
        (#"{"StringLike":{"k":"${u}/*"}}"#, "u_1/x", true), (#"{"StringLike":{"k":"${u}/*"}}"#, "u_2/x", false),
        (#"{"StringNotLike":{"k":["a*","b*"]}}"#, "c", true), (#"{"StringNotLike":{"k":["a*","b*"]}}"#, "b", false),
        (#"{"StringNotEquals":{"k":"a"}}"#, nil, true), (#"{"StringEquals":{"k":"a"}}"#, nil, false),
        (#"{"StringEqualsIfExists":{"k":"a"}}"#, nil, true), (#"{"StringEqualsIfExists":{"k":"a"}}"#, "b", false),
        (#"{"ForAllValues:StringEquals":{"k":"a"}}"#, nil, true),
        (#"{"ForAnyValue:StringEquals":{"k":"a"}}"#, nil, false),
        (#"{"Null":{"k":"true"}}"#, nil, true), (#"{"Null":{"k":"false"}}"#, nil, false),
        (#"{"Null":{"k":"false"}}"#, "a", true), (#"{"Bool":{"k":"true"}}"#, "True", true),
        (#"{"NumericLessThanEquals":{"k":"10"}}"#, "10", true), (#"{"NumericLessThan":{"k":"10"}}"#, "10", false),
        (#"{"DateLessThan":{"k":"2026-01-01T00:00:00Z"}}"#, "2025-12-31T23:59:59Z", true),
        (#"{"DateLessThan":{"k":"2026-01-01T00:00:00Z"}}"#, "2026-01-01T00:00:00Z", false),
        (#"{"DateGreaterThan":{"k":"2026-01-01T00:00:00Z"}}"#, "1767225601", true),
        (#"{"StringEquals":{"k":"a"},"StringLike":{"u":"x*"}}"#, "a", false),
    ])
    func `holds a condition as its operator says, also for a key that is not there`(
        condition: String, value: String?, expected: Bool
    ) throws {
        let statement = #"{"Effect":"Allow","Action":"*","Resource":"*","Condition":\#(condition)}"#
        var context = ["u": ["u_1"]]
        if let value { context["k"] = [value] }
        #expect(try decision([statement], "s3:GetObject", "x", context) == (expected ? .allowed : .notAllowed))
    }

    @Test func `asks all values or any, for keys with several`() throws {
        func allowed(_ name: String, _ values: [String]) throws -> Bool {
            let condition = #"{"\#(name):StringEquals":{"aws:TagKeys":["a","b"]}}"#
            let statement = #"{"Effect":"Allow","Action":"*","Resource":"*","Condition":\#(condition)}"#
            return try decision([statement], "x:y", "x", ["aws:TagKeys": values]) == .allowed
        }
        #expect(try allowed("ForAllValues", ["a", "b"]))
        #expect(try !allowed("ForAllValues", ["a", "c"]))
        #expect(try allowed("ForAnyValue", ["a", "c"]))
        #expect(try !allowed("ForAnyValue", ["c"]))
    }

    @Test func `reads what is left out as well as what is named`() throws {
        let statement = #"{"Effect":"Deny","NotAction":"s3:Get*","NotResource":["arn:aws:s3:::b/open/*"]}"#
        #expect(try decision([statement], "s3:GetObject") == .notAllowed)
        #expect(try decision([statement], "s3:PutObject") == .denied)
        #expect(try decision([statement], "s3:PutObject", "arn:aws:s3:::b/open/x") == .notAllowed)
    }

    @Test(arguments: [
        #"""
        {"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*",\#
        "Condition":{"ArnLike":{"aws:SourceArn":"arn:*"}}}}
        """#,
        "[]", "{}", #"{"Version":"2008-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}"#,
        #"{"Version":"2012-10-17","Statement":[]}"#, #"{"Version":"2012-10-17","Statement":[7]}"#,
        #"{"Version":"2012-10-17","Statement":{"Effect":"allow","Action":"*","Resource":"*"}}"#,
        #"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Resource":"*"}}"#,
        #"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*"}}"#,
        #"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","NotAction":"*","Resource":"*"}}"#,
        #"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*","Condition":[]}}"#,
        #"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"Strange":{"a":"b"}}}}"#,
        #"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"Bool":{"a":true}}}}"#,
        #"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*","Priority":1}}"#,
    ])
    func `refuses a text of which it does not know the meaning`(text: String) throws {
        let json = try JSON(parsing: Array(text.utf8))
        #expect(throws: IAMPolicyError.self) { try IAMPolicy(json) }
    }

    @Test(arguments: [
        ("a*", "a", true), ("a*", "ab*", true), ("ab*", "a*", false), ("*", "${u}?*", true), ("a?", "a?", true),
        ("a?", "a*", false), ("a?", "a${u}", false), ("${u}/*", "${u}/a/*", true), ("${u}/*", "${v}/a", false),
        ("*b*d", "abcd", true), ("*b", "*", false), ("a*c", "a*b*c", true), ("a", "a", true), ("", "", true),
        ("", "*", false),
    ])
    func `covers a pattern with a wider one`(wide: String, narrow: String, expected: Bool) {
        #expect(IAMPattern(wide).covers(IAMPattern(narrow)) == expected)
    }

    /// Whatever is covered by what was shown is allowed by asking.
    @Test(arguments: SeededGenerator.freshSeeds) func `covers only what it really allows`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var covered = 0
        for _ in 0..<20_000 {
            let (wide, narrow) = (generator.text(of: "ab*?", 0...6), generator.text(of: "ab*?", 0...6))
            guard IAMPattern(wide).covers(IAMPattern(narrow)) else { continue }
            covered += 1
            let text = narrow.map {
                $0 == "*" ? generator.text(of: "ab", 0...3) : $0 == "?" ? generator.text(of: "ab", 1...1) : String($0)
            }
            .joined()
            #expect(IAMPattern(narrow).matches(text) && IAMPattern(wide).matches(text), "\(wide) \(narrow) \(text)")
        }
        #expect(covered > 100)
    }

    @Test func `shows a cover only where conditions are kept`() throws {
        let open = #"{"Effect":"Allow","Action":"s3:List*","Resource":"arn:aws:s3:::b"}"#
        func listing(_ condition: String) -> String {
            #"{"Effect":"Allow","Action":"s3:ListBucket","Resource":"arn:aws:s3:::b","Condition":\#(condition)}"#
        }
        let like = listing(#"{"StringLike":{"s3:prefix":["a/*","b/*"]}}"#)
        for (wide, narrow, expected) in [
            (open, like, true), (like, open, false), (like, like, true),
            (like, listing(#"{"StringLike":{"s3:prefix":"a/x/*"}}"#), true),
            (like, listing(#"{"StringEquals":{"s3:prefix":"b/"}}"#), true),
            (like, listing(#"{"StringLikeIfExists":{"s3:prefix":"a/*"}}"#), false),
            (like, listing(#"{"StringNotLike":{"s3:prefix":"a/*"}}"#), false),
            (like, listing(#"{"StringLike":{"s3:delimiter":"a/*"}}"#), false),
            (listing(#"{"StringNotLike":{"s3:prefix":"a/*"}}"#), like, false),
            (open, #"{"Effect":"Allow","NotAction":"s3:Put*","Resource":"*"}"#, false),
        ] { #expect(try policy(wide).covers(try policy(narrow)) == expected, "\(wide) \(narrow)") }
        let denying = try policy(open, #"{"Effect":"Deny","Action":"*","Resource":"*"}"#)
        let narrow = try policy(like)
        #expect(!denying.covers(narrow))
    }
}
