import CloakroomScriptedTier
import CloakroomTiers

/// One thing that happens in a schedule. Whatever steps are left out of a schedule, the others can still happen.
enum Step: Hashable, Sendable {
    /// An operation of an app begins; it ends when its calls have had their turns.
    case begin(device: Int, process: Int, Operation)
    /// One of the calls that wait goes on.
    case turn(Int, Turnstile.Outcome)
    /// So many calls of a device go on, in their order.
    case advance(device: Int, calls: Int)
    /// Calls of a device go on until one waits at this place.
    case advanceUntil(device: Int, CallPlace)
    /// All calls go on, one after the other, until none waits.
    case drain
    /// Time, everywhere.
    case pass(hours: Int)
    /// The user sets the device's clock.
    case setClock(device: Int, hours: Int)
    case store(StoreEvent)
    case network(device: Int, isOn: Bool)
    case power(device: Int, isOn: Bool)
    /// One bit of a photo's file is another from now on.
    case damageFile(device: Int, photo: Int)
    case damageCatalog(device: Int)
    /// The processes of a device end, and one begins.
    case kill(device: Int)
    /// The same, at a later step of what its store writes.
    case killAtStep(device: Int, Int)
    /// All of a device's files are lost.
    case wipe(device: Int)
    /// A second process of the device begins; or ends, when there is one.
    case secondProcess(device: Int)
}

/// A call that has not reached the store yet, or that the store has done and whose response is on its way.
struct CallPlace: Hashable, Sendable {
    var kind: TierCall.Kind
    var moment: TierCall.Moment

    /// Where devices meet: what others do meanwhile matters.
    static let meetings = [
        CallPlace(kind: .delete, moment: .before), CallPlace(kind: .delete, moment: .before),
        CallPlace(kind: .verify, moment: .after), CallPlace(kind: .verify, moment: .after),
        CallPlace(kind: .verify, moment: .before), CallPlace(kind: .documents, moment: .after),
        CallPlace(kind: .putDocument, moment: .before), CallPlace(kind: .put, moment: .after),
    ]
}

/// What an app does.
enum Operation: Hashable, Sendable {
    case add(PhotoName)
    case leave(PhotoName)
    case remove(PhotoName)
    /// And keeps it open.
    case open(PhotoName)
    /// Closes all that are open.
    case close
    case pin(PhotoName, Bool)
    case run, background, freeSpace, preview, restoreAll, rebuild
    case policy(RetentionPolicy.Period, byteLimit: Int64?, RetentionPolicy.UploadTime)
    case dismissAlarms
    /// Another device than this one, if there is one: the choice counts around them.
    case dismissDevice(Int)
    case releaseLock
}

/// What happens in the store behind the devices' backs.
enum StoreEvent: Hashable, Sendable {
    /// By a rule or an operator.
    case destroy(photo: Int)
    case damage(photo: Int)
    /// A rule is going to delete it in so many hours.
    case expire(photo: Int, hours: Int)
    case archive(photo: Int)
    case damageDocument(Int)
    case quota(isFull: Bool)
    /// No rule, archive or quota any more.
    case heal
}
