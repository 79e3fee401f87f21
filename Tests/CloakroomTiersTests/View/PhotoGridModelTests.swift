import CloakroomKit
import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomTiers

@MainActor
@Suite(.serialized) struct PhotoGridModelTests {
    private func model(_ count: Int64, gates: [String: Gate] = [:]) -> (PhotoGridModel, ScriptedPhotoStore) {
        var script = ScriptedPhotoStore.Script()
        script.photos = TimelineItem.samples(count)
        let store = ScriptedPhotoStore(script, gates: gates)
        return (PhotoGridModel(storing: store), store)
    }

    private func ids(_ model: PhotoGridModel) -> [Int64] { model.state.items.map(\.id.rawValue) }

    @Test func `reads a page at a time, the next one near the end, until there are no more`() async {
        let (model, store) = model(130)
        await model.refresh()
        #expect(ids(model) == Array((71...130).reversed()))
        #expect(!model.state.isComplete)

        await model.itemAppeared(PhotoID(rawValue: 91))
        #expect(model.state.items.count == 60)
        await model.itemAppeared(PhotoID(rawValue: 90))
        #expect(ids(model) == Array((11...130).reversed()))

        await model.itemAppeared(PhotoID(rawValue: 11))
        #expect(ids(model) == Array((1...130).reversed()))
        #expect(model.state.isComplete)
        await model.itemAppeared(PhotoID(rawValue: 1))
        #expect(store.calls == ["thumbnails before none", "thumbnails before 71", "thumbnails before 11"])
    }

    @Test func `shows that it is loading, then what was read`() async {
        let (model, _) = model(3)
        let states = model.states(buffering: .unbounded)
        await model.refresh()
        var seen: [String] = []
        for await state in states {
            seen.append("\(state.items.count) \(state.isLoading) \(state.isComplete)")
            if state.isComplete { break }
        }
        #expect(seen == ["0 false false", "0 true false", "3 false true"])
    }

    @Test func `ends what its readers read with itself`() async {
        var model: PhotoGridModel? = model(3).0
        let states = model?.states()
        model = nil
        var count = 0
        if let states { for await _ in states { count += 1 } }
        #expect(count == 1)
    }

    @Test func `reads one next page, however many photos appear`() async {
        let gate = Gate()
        await gate.letOnePass()
        let (model, store) = model(200, gates: ["thumbnails": gate])
        await model.refresh()
        let first = Task { await model.itemAppeared(PhotoID(rawValue: 141)) }
        await gate.arrival()
        await model.itemAppeared(PhotoID(rawValue: 142))
        await gate.open()
        await first.value
        #expect(store.count(of: "thumbnails before 141") == 1)
        #expect(model.state.items.count == 120)
    }

    @Test func `ignores a page that arrives after the grid was read anew`() async {
        let gate = Gate()
        await gate.letOnePass()
        let (model, store) = model(100, gates: ["thumbnails": gate])
        await model.refresh()
        let late = Task { await model.itemAppeared(PhotoID(rawValue: 41)) }
        await gate.arrival()
        store.change { $0.photos.removeAll { $0.id.rawValue < 50 } }
        let refresh = Task { await model.refresh() }
        await gate.letLastPass(of: 2)
        await refresh.value
        await gate.open()
        await late.value
        #expect(ids(model) == Array((50...100).reversed()))
        #expect(model.state.isComplete)
        #expect(!model.state.isLoading)
    }

    @Test func `reads the next page after the grid was read anew, while one of before is still being read`() async {
        let gate = Gate()
        await gate.letOnePass()
        let (model, store) = model(200, gates: ["thumbnails": gate])
        await model.refresh()
        let late = Task { await model.itemAppeared(PhotoID(rawValue: 141)) }
        await gate.arrival()
        let refresh = Task { await model.refresh() }
        await gate.letLastPass(of: 2)
        await refresh.value
        let next = Task { await model.itemAppeared(PhotoID(rawValue: 141)) }
        let pass = Task { await gate.letLastPass(of: 2) }
        await next.value
        #expect(model.state.items.count == 120)
        #expect(store.count(of: "thumbnails before 141") == 2)
        await gate.open()
        await late.value
        #expect(ids(model) == Array((81...200).reversed()))
        pass.cancel()
    }

    @Test func `reads anew as many photos as are shown, and shows the old ones until then`() async {
        let gate = Gate()
        let (model, store) = model(150, gates: ["thumbnails": gate])
        for _ in 0..<2 { await gate.letOnePass() }
        await model.refresh()
        await model.itemAppeared(PhotoID(rawValue: 91))
        await model.itemAppeared(PhotoID(rawValue: 95))
        #expect(model.state.items.count == 120)

        store.change { $0.photos.insert(TimelineItem.sample(151), at: 0) }
        let refresh = Task { await model.refresh() }
        await gate.arrival()
        #expect(ids(model).first == 150)
        #expect(model.state.items.count == 120)
        await gate.open()
        await refresh.value
        #expect(ids(model) == Array((32...151).reversed()))
    }

    @Test func `keeps thumbnails only near what is shown, and reads dropped ones again`() async {
        let (model, store) = model(900)
        await model.refresh()
        for number in stride(from: Int64(841), through: 301, by: -60) {
            await model.itemAppeared(PhotoID(rawValue: number))
        }
        #expect(model.state.items.count == 660)
        #expect(model.state.items.filter { $0.thumbnail != nil }.first?.id.rawValue == 660)

        await model.itemAppeared(PhotoID(rawValue: 900))
        #expect(model.state.items.prefix(120).allSatisfy { $0.thumbnail != nil })
        #expect(model.state.items.dropFirst(360).allSatisfy { $0.thumbnail == nil })
        #expect(store.count(of: "thumbnails before none") == 2)
        #expect(store.count(of: "thumbnails before 841") == 2)
    }

    @Test func `keeps what it shows when reading anew fails, and says why`() async {
        let (model, store) = model(10)
        await model.refresh()
        let failure = CloakroomError(.storeFailed, "the catalog cannot be read")
        store.change { $0.failure = failure }
        await model.refresh()
        #expect(model.state.failure == failure)
        #expect(!model.state.isLoading)
        #expect(model.state.items.count == 10)

        store.change { $0.failure = nil }
        await model.refresh()
        #expect(model.state.failure == nil)
    }

    @Test func `reads the next page again after a failure`() async {
        let (model, store) = model(100)
        await model.refresh()
        store.change { $0.failure = CloakroomError(.storeFailed, "the catalog cannot be read") }
        await model.itemAppeared(PhotoID(rawValue: 41))
        #expect(model.state.failure?.code == .storeFailed)
        store.change { $0.failure = nil }
        await model.itemAppeared(PhotoID(rawValue: 41))
        #expect(model.state.items.count == 100)
    }

    @Test func `shows a pin once the store has it, and not when it has not`() async {
        let (model, store) = model(3)
        await model.refresh()
        await model.setPinned(true, PhotoID(rawValue: 2))
        #expect(model.state.items.map(\.isPinned) == [false, true, false])

        store.change { $0.failure = CloakroomError(.storeFailed, "the catalog cannot be written") }
        await model.setPinned(false, PhotoID(rawValue: 2))
        #expect(model.state.items.map(\.isPinned) == [false, true, false])
        #expect(model.state.failure?.code == .storeFailed)
    }

    @Test func `shows a photo once that moved into an older page meanwhile`() async {
        let (model, store) = model(100)
        await model.refresh()
        // The store shows photo 60 among the older ones now.
        store.change { script in
            script.photos.append(
                TimelineItem(
                    id: PhotoID(rawValue: 60), takenAt: Date(milliseconds: 5), place: .device, isPinned: false,
                    byteCount: 1, thumbnail: nil, cursor: TimelineCursor(takenAt: 5, id: 60)))
        }
        await model.itemAppeared(PhotoID(rawValue: 41))
        #expect(ids(model).filter { $0 == 60 }.count == 1)
        #expect(Set(ids(model)).count == 100)
    }

    @Test func `fetches a thumbnail that this device never had, until it knows whether there is one`() async {
        let (model, store) = model(3)
        store.change {
            $0.photos = [TimelineItem.sample(2, place: .cold, thumbnail: nil), .sample(1, thumbnail: nil)]
            $0.coldThumbnails = [2: Data("cold".utf8)]
        }
        await model.refresh()
        store.change { $0.failure = CloakroomError(.cancelled, "the photo left the screen") }
        await model.itemAppeared(PhotoID(rawValue: 1))
        store.change { $0.failure = nil }
        for number in [Int64(1), 2, 1, 2] { await model.itemAppeared(PhotoID(rawValue: number)) }
        #expect(model.state.items.map(\.thumbnail) == [Data("cold".utf8), nil])
        #expect(store.calls == ["thumbnails before none", "thumbnail 1", "thumbnail 1", "thumbnail 2"])
    }

    @Test(arguments: [
        (PhotoPlace.device, false, [PhotoBadge.onDevice]), (.both, false, [.onDevice]), (.cold, false, [.inCloud]),
        (.missing, false, [.missing]), (.both, true, [.onDevice, .pinned]), (.cold, true, [.inCloud, .pinned]),
    ])
    func `has badges of where a photo is`(place: PhotoPlace, isPinned: Bool, badges: [PhotoBadge]) {
        #expect(TimelineItem.sample(1, place: place, isPinned: isPinned).badges == badges)
    }

    @Test(
        arguments: [
            (.onDevice, .badgeOnDevice, nil), (.inCloud, .badgeInCloud, "icloud"),
            (.missing, .badgeMissing, "exclamationmark.icloud"), (.pinned, .badgePinned, "pin.fill"),
        ] as [(PhotoBadge, TierText, String?)])
    func `each badge has a text and a picture of its own`(badge: PhotoBadge, label: TierText, symbol: String?) {
        #expect(badge.label == label)
        #expect(badge.symbolName == symbol)
    }

    @Test func `of two readings at once the later one is shown`() async {
        let gate = Gate()
        let (model, store) = model(3, gates: ["thumbnails": gate])
        let first = Task { await model.refresh() }
        await gate.arrival()
        store.change { $0.photos.removeFirst() }
        let second = Task { await model.refresh() }
        await gate.letLastPass(of: 2)
        await second.value
        await gate.open()
        await first.value
        #expect(ids(model) == [2, 1])
    }

    @Test func `reads a dropped page again once, however many of its photos appear`() async {
        let gate = Gate()
        let (model, store) = model(900, gates: ["thumbnails": gate])
        for _ in 0..<11 { await gate.letOnePass() }
        await model.refresh()
        for number in stride(from: Int64(841), through: 301, by: -60) {
            await model.itemAppeared(PhotoID(rawValue: number))
        }
        let first = Task { await model.itemAppeared(PhotoID(rawValue: 900)) }
        await gate.arrival()
        let second = Task { await model.itemAppeared(PhotoID(rawValue: 899)) }
        await gate.arrival(of: 2)
        await gate.open()
        await first.value
        await second.value
        #expect(store.count(of: "thumbnails before none") == 2)
    }
}
