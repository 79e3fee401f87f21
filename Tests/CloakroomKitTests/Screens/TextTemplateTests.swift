import CloakroomKit
import Testing

@Suite struct TextTemplateTests {
    @Test(arguments: [
        ("%2$@ of %1$@", ["a", "b"], "b of a"), ("%1$@, %1$@", ["a"], "a, a"), ("%1$@ and %2$@", ["a"], "a and %2$@"),
        ("100%", ["a"], "100%"), ("", ["a"], ""), ("%1$@", [], "%1$@"), ("%1$@%2$@", ["%2$@", "%1$@"], "%2$@%1$@"),
        ("%10$@ %1$@", ["a"], "%10$@ a"),
    ])
    func `puts each argument where the text says, and only there`(text: String, arguments: [String], filled: String) {
        #expect(TextTemplate(text).filled(with: arguments) == filled)
    }
}
