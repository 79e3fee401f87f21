/// What a campaign must reach: where one of these is never met, the world is too tame to prove anything of it.
enum State: String, CaseIterable, Sendable {
    // What is struck.
    case workerKilled = "worker killed"
    case reload
    case redisDown = "Redis was down"
    case redisDataLost = "Redis lost its data"
    case tokensDown = "STS was down"
    case tokensThrottled = "STS throttled"
    case storeFailed = "S3 failed at random"
    case partition
    case revocation
    // Messages.
    case redisRequestLost = "Redis request lost"
    case redisReplyLost = "Redis reply lost"
    case tokensResponseLost = "sts response lost"
    case storeResponseLost = "s3 response lost"
    case deviceResponseLost = "response to a device lost"
    case retriedAfterLoss = "a request succeeded whose first response was lost"
    // Workers.
    case deadWorkerMet = "nginx met a worker that was gone"
    case reloadUnderLoad = "reload with requests under way"
    case killedUnderLoad = "worker killed with requests under way"
    case killedBetween = "worker killed between the effect of a request to S3 or STS and its response"
    case vendedWithoutRedis = "vend while Redis was down"
    case vended = "credentials vended"
    case refreshed = "credentials refreshed before they ended"
    case vendedFromCache = "credentials vended from a cache"
    case vendedOfAnother = "credentials vended that another worker got"
    case vendedAfterRevocation = "credentials vended after a revocation"
    case breakerOpened = "breaker opened"
    case breakerClosed = "breaker closed"
    case unavailable = "status 503"
    case renewed = "images renewed"
    case renewedBefore = "renewal answered for what was renewed before"
    // Devices.
    case appKilled = "app killed while it worked"
    case appKilledBetween = "app killed between the effect of its request and the response"
    case limitSeen = "status 429 at a device"
    case tokenReplaced = "a backup after a refused token"
    case queueEmpty = "a queue was empty"
    case queueWentOn = "a queue went on after a failure"
    case wrongClock = "a backup by a clock that is off by an hour or more"
    case imageForgotten = "an image that no device refers to"
    // Photos in tiers, and disks.
    case photoWentCold = "a photo left a device for S3"
    case photoCameBack = "a photo came back from S3"
    case photoDeleted = "a removed photo was deleted in S3"
    case photoAdopted = "a photo without a record was found by its file"
    case moveWaits = "photos waited for another network, or for power"
    case killedWhileMoving = "app killed while it moved photos"
    case powerLost = "power lost"
    case powerLostUnsynced = "power lost, and with it something that was not synced"
    case powerLostInEviction = "power lost while a photo left the device"
    case diskFull = "a disk was full"
    case photosFoundAgain = "photos found again by a new installation"
    case installationGivenUp = "a former installation was given up"
    // Conversations.
    case messagePurged = "a message purged when it was over"
    case purgeHeldBack = "a message that is over and not purged, as the time is not certain"
    case hiddenEarly = "a message hidden early by a wrong clock"
    case shownAgain = "a message shown again that was hidden early"
    case arrivedExpired = "a message that was over when it arrived"
    case letterRepeated = "a message that arrived twice"
    case letterRepeatedLate = "a message that arrived again after its end"
    case controlRefused = "a control message refused by a clock that was wrong"
    case sendPutOff = "a message not sent yet, as it may be over"
    case clockSetAhead = "a clock set ahead"
    case clockSetBack = "a clock set back"
    case deviceRestarted = "a device started anew"
    case agreementConverged = "an agreement after two users changed what they want at once"
    case vaultBegunAnew = "a vault lost, and begun anew"
    case vaultLocked = "a vault that is locked until the first unlock"
    case reinstalled = "a messenger installed anew"
    case killedInPurge = "a messenger killed in a purge"
    case imageReleased = "an image released"
    case imageWaits = "an image that waits for the end of its message at others"
}

extension Trace {
    static func reached(_ state: State) { reached(state.rawValue) }

    static func count(of state: State) -> Int { states[state.rawValue] ?? 0 }
}
