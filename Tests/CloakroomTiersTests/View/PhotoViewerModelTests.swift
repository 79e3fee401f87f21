import CloakroomKit
import Foundation
import Testing

@testable import CloakroomTiers

@MainActor
@Suite(.serialized) struct PhotoViewerModelTests {
    private let english = TierLanguage(locale: Locale(identifier: "en_US"))

    private let leases = Leases()

    private func file() -> PhotoFile {
        PhotoFile(
            id: PhotoID(rawValue: 7), url: URL(fileURLWithPath: "/photos/7.jpg"), byteCount: 150_000, leases: leases)
    }

    private func model(
        _ loads: [[PhotoLoad]], staysOpen: Bool = false, thumbnail: Data? = Data("grid".utf8)
    ) -> (PhotoViewerModel, ScriptedPhotoStore) {
        var script = ScriptedPhotoStore.Script()
        script.loads = loads
        script.loadsStayOpen = staysOpen
        let store = ScriptedPhotoStore(script)
        return (PhotoViewerModel(storing: store, item: .sample(7, place: .cold, thumbnail: thumbnail)), store)
    }

    private func text(_ phase: PhotoViewerModel.State.Phase) -> String {
        switch phase {
        case .closed: "closed"
        case .loading(let fraction): "loading \(fraction.map { "\($0)" } ?? "")"
        case .shown(let file): "shown \(file.url.lastPathComponent)"
        case .failed(let error): "failed \(error.code)"
        }
    }

    @Test func `shows the thumbnail of the grid, then that of the store, the progress, and the photo`() async {
        let (model, store) = model([
            [
                .thumbnail(Data("store".utf8)), .progress(fraction: 0.25), .progress(fraction: 1), .file(file()),
            ]
        ])
        let states = model.states(buffering: .unbounded)
        await model.open()
        var seen: [String] = []
        for await state in states {
            seen.append("\(String(decoding: state.thumbnail ?? Data(), as: UTF8.self)) \(text(state.phase))")
            if case .shown = state.phase { break }
        }
        #expect(
            seen == [
                "grid closed", "grid loading ", "store loading ", "store loading 0.25", "store loading 1.0",
                "store shown 7.jpg",
            ])
        #expect(store.calls == ["load 7 within 10.0 seconds"])
        #expect(model.state.message(in: english) == nil)
    }

    @Test func `says that it is loading, and how far it is`() async {
        let (model, store) = model([[.progress(fraction: 0.45)]], staysOpen: true)
        let opening = Task { await model.open() }
        for await state in model.states(buffering: .unbounded) {
            if case .loading(0.45) = state.phase { break }
        }
        #expect(model.state.message(in: english) == "Loading…")
        #expect(english.loadingLabel(model.state.fraction) == "Loading, 45%")
        store.send(.file(file()))
        await Task { for await state in model.states() { if case .shown = state.phase { break } } }.value
        model.dismiss()
        await opening.value
    }

    @Test(arguments: [
        (CloakroomError.Code.unreachable, "Offline, tap to retry"), (.timedOut, "Offline, tap to retry"),
        (.notAllowedNow, "Waiting for another network, or for power, tap to retry"),
        (.unavailable, "The cloud cannot be reached properly now, tap to retry"),
    ])
    func `offers another attempt where one can succeed`(code: CloakroomError.Code, message: String) async {
        let (model, store) = model([[.failed(CloakroomError(code, "no"))], [.file(file())]])
        await model.open()
        #expect(text(model.state.phase) == "failed \(code)")
        #expect(model.state.canRetry)
        #expect(model.state.message(in: english) == message)
        #expect(model.state.thumbnail == Data("grid".utf8))

        await model.retry()
        #expect(text(model.state.phase) == "shown 7.jpg")
        #expect(store.calls.count == 2)
    }

    @Test(arguments: [
        (CloakroomError.Code.photoMissing, "This photo is not in the cloud any more"),
        (.archived, "This photo is in an archive, and has to be restored there"),
        (.diskFull, "There is not enough room on this device"), (.noSuchPhoto, "This photo was removed"),
    ])
    func `offers none where none can`(code: CloakroomError.Code, message: String) async {
        let (model, store) = model([[.failed(CloakroomError(code, "no"))]])
        await model.open()
        #expect(!model.state.canRetry)
        #expect(model.state.message(in: english) == message)
        await model.retry()
        #expect(store.calls.count == 1)
    }

    @Test func `calls a download slow, not offline, when its time is over while bytes arrive`() async {
        let (model, _) = model([[.progress(fraction: 0.3), .failed(CloakroomError(.timedOut, "10 seconds"))]])
        await model.open()
        #expect(model.state.message(in: english) == "This takes longer than usual, tap to retry")
    }

    @Test func `ends the opening when it is dismissed, and keeps nothing`() async {
        let (model, store) = model([[.progress(fraction: 0.1)]], staysOpen: true)
        let opening = Task { await model.open() }
        for await state in model.states(buffering: .unbounded) {
            if case .loading(0.1) = state.phase { break }
        }
        model.dismiss()
        await opening.value
        #expect(text(model.state.phase) == "closed")
        #expect(store.endedLoads == 1)
        store.send(.file(file()))
        await Task.yield()
        #expect(text(model.state.phase) == "closed")
    }

    @Test func `a photo that arrives as it is dismissed is let go, and not shown`() async {
        let (model, store) = model([[.progress(fraction: 0.1)]], staysOpen: true)
        let late = file()
        let opening = Task { await model.open() }
        for await state in model.states(buffering: .unbounded) {
            if case .loading(0.1) = state.phase { break }
        }
        #expect(leases.isOpen(7))
        // Nothing runs in between: the file is on its way to the model.
        store.send(.file(late))
        model.dismiss()
        await opening.value
        #expect(text(model.state.phase) == "closed")
        #expect(!leases.isOpen(7))
        late.close()
    }

    @Test func `a photo that an earlier attempt brings is let go, and not shown`() async {
        let (model, store) = model([[.progress(fraction: 0.1)], []], staysOpen: true)
        let first = Task { await model.open() }
        for await state in model.states(buffering: .unbounded) {
            if case .loading(0.1) = state.phase { break }
        }
        let late = file()
        store.send(.file(late))
        let second = Task {
            model.dismiss()
            await model.open()
        }
        await first.value
        #expect(text(model.state.phase) == "loading ")
        #expect(!leases.isOpen(7))
        late.close()
        model.dismiss()
        await second.value
    }

    /// - Parameter isDismissed: or its caller was cancelled.
    @Test(arguments: [true, false])
    func `the end of an earlier attempt does not end the one that is under way`(isDismissed: Bool) async {
        let (model, store) = model([[.progress(fraction: 0.1)], []], staysOpen: true)
        let first = Task { await model.open() }
        for await state in model.states(buffering: .unbounded) {
            if case .loading(0.1) = state.phase { break }
        }
        // The next attempt begins before the end of the first one is known.
        let second = Task {
            if isDismissed { model.dismiss() } else { first.cancel() }
            await model.open()
        }
        await first.value
        #expect(text(model.state.phase) == "loading ")
        #expect(store.calls.count == 2)
        store.send(.file(file()))
        for await state in model.states(buffering: .unbounded) {
            if case .loading = state.phase { continue }
            break
        }
        #expect(text(model.state.phase) == "shown 7.jpg")
        model.dismiss()
        await second.value
    }

    @Test func `holds the photo while it shows it, and lets go of it when dismissed`() async {
        let (model, _) = model([[.file(file())]])
        await model.open()
        #expect(leases.isOpen(7))
        model.dismiss()
        #expect(!leases.isOpen(7))
    }

    @Test func `opens again after it was dismissed`() async {
        let (model, store) = model([[.file(file())]])
        await model.open()
        await model.open()
        #expect(store.calls.count == 1)
        model.dismiss()
        await model.open()
        #expect(text(model.state.phase) == "shown 7.jpg")
        #expect(store.calls.count == 2)
    }

    @Test func `one attempt serves calls that come meanwhile`() async {
        let (model, store) = model([[.progress(fraction: 0.1)]], staysOpen: true)
        let first = Task { await model.open() }
        for await state in model.states(buffering: .unbounded) {
            if case .loading(0.1) = state.phase { break }
        }
        let second = Task { await model.open() }
        await Task.yield()
        store.send(.failed(CloakroomError(.unreachable, "no network")))
        model.dismiss()
        await first.value
        await second.value
        #expect(store.calls.count == 1)
    }

    @Test func `can be opened again after the caller's task was cancelled`() async {
        let (model, store) = model([[.progress(fraction: 0.1)], [.file(file())]], staysOpen: true)
        let opening = Task { await model.open() }
        for await state in model.states(buffering: .unbounded) {
            if case .loading(0.1) = state.phase { break }
        }
        opening.cancel()
        await opening.value
        #expect(text(model.state.phase) == "failed cancelled")
        #expect(model.state.canRetry)
        store.change { $0.loadsStayOpen = false }
        await model.open()
        #expect(text(model.state.phase) == "shown 7.jpg")
    }

    @Test func `ends the opening with itself`() async {
        var model: PhotoViewerModel?
        let store: ScriptedPhotoStore
        (model, store) = self.model([[.progress(fraction: 0.1)]], staysOpen: true)
        let states = model?.states(buffering: .unbounded)
        let opening = Task { [weak model] in await model?.open() }
        if let states { for await state in states { if case .loading(0.1) = state.phase { break } } }
        opening.cancel()
        model = nil
        await opening.value
        #expect(store.endedLoads == 1)
    }

    @Test func `shows a placeholder where there is no thumbnail, until the store has one`() async {
        let (model, _) = model([[.thumbnail(Data("store".utf8)), .file(file())]], thumbnail: nil)
        #expect(model.state.thumbnail == nil)
        await model.open()
        #expect(model.state.thumbnail == Data("store".utf8))
    }

    @Test func `shows a pin once the store has it, and why it has not`() async {
        let (model, store) = model([])
        await model.setPinned(true)
        #expect(model.state.isPinned)
        store.change { $0.failure = CloakroomError(.storeFailed, "the catalog cannot be written") }
        await model.setPinned(false)
        #expect(model.state.isPinned)
        #expect(model.state.pinFailure?.code == .storeFailed)
    }
}
