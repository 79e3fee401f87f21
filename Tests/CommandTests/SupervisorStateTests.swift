import Testing

@testable import CloakroomCommand

struct SupervisorStateTests {
    private static let state = SupervisorState(
        lifeline: (5, 6),
        workers: [
            .init(slot: 0, role: .current, process: 4321, start: 77, isPublished: true, memory: 8),
            .init(slot: 0, role: .leaving, process: 4300, start: 70, isPublished: true, memory: 9),
            .init(slot: 1, role: .current, process: 4322, start: 78, isPublished: false, memory: 10),
        ])

    @Test func `comes back as it was`() {
        #expect(SupervisorState(Self.state.text, slots: 2) == Self.state)
        let empty = SupervisorState(lifeline: (5, 6), workers: [])
        #expect(SupervisorState(empty.text, slots: 1) == empty)
    }

    @Test(arguments: [
        "", "cloakroom supervisor 2\nlifeline 5 6\n", "cloakroom supervisor 1\n",
        "cloakroom supervisor 1\nlifeline 5\n",
        "cloakroom supervisor 1\nlifeline 5 6\nworker 2 current 4321 77 published 8\n",
        "cloakroom supervisor 1\nlifeline 5 6\nworker -1 current 4321 77 published 8\n",
        "cloakroom supervisor 1\nlifeline 5 6\nworker 0 next 4321 77 published 8\n",
        "cloakroom supervisor 1\nlifeline 5 6\nworker 0 current 1 77 published 8\n",
        "cloakroom supervisor 1\nlifeline 5 6\nworker 0 current -5 77 published 8\n",
        "cloakroom supervisor 1\nlifeline 5 6\nworker 0 current 4321 77 published 2\n",
        "cloakroom supervisor 1\nlifeline 5 6\nworker 0 current 4321 77 published\n",
    ])
    func `no other text is one`(text: String) { #expect(SupervisorState(text, slots: 2) == nil) }
}
