import CloakroomMessages
import Foundation
import Testing

struct MessageIdentifierTests {
    @Test func `names are the same when their bytes are`() throws {
        let (composed, decomposed) = ("Zo\u{EB}", "Zoe\u{308}")
        // For Swift these texts are equal.
        #expect(composed == decomposed)
        #expect(ParticipantID(rawValue: composed) != ParticipantID(rawValue: decomposed))
        #expect(ConversationID(rawValue: composed) != ConversationID(rawValue: decomposed))
        #expect(MessageID(rawValue: composed) != MessageID(rawValue: decomposed))
        #expect(ParticipantID(rawValue: composed) == ParticipantID(rawValue: String(composed)))
        #expect(Set([composed, decomposed].compactMap(ParticipantID.init(rawValue:))).count == 2)
        let ids = [composed, decomposed, composed].compactMap(MessageID.init(rawValue:))
        #expect(Set(ids).count == 2)
    }
}
