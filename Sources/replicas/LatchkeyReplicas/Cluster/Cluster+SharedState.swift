internal import LatchkeyFrame
internal import LatchkeyWatches

extension Cluster: SharedState {
    var readRefusal: RequestFailure? { state.readRefusal }

    var hasEnded: Bool { state.endReason != nil }
}
