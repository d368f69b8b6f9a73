internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyStrategies

/// The received bytes that an import has not worked on yet, and the side that goes on.
///
/// **Design.** The thread that serves adds pieces to one buffer while the import works on another:
/// so the two meet once for many pieces, and both have work. If the import is idle, it gets each
/// piece at once: no piece waits for more to come. If the buffer is full, the client waits until
/// the import takes it.
///
/// The request must not be used when it is lost. It cannot be lost while the client waits, nor
/// between the end of the body and the answer. So the import goes on with the client, and answers,
/// only in these two states; a failure in any other one is kept for the thread that serves.
///
/// | state | a piece comes | the buffer is used up |
/// |---|---|---|
/// | idle | the import works on it | |
/// | works | it is added; without more room the client waits | works on what was added, or idle |
/// | failed | the thread that serves answers | |
///
/// One lock guards all of it; a piece is copied under the lock.
struct ImportInbox<Failure: Sendable>: Sendable {
    /// The reaction of the serving thread to a piece.
    enum Reception {
        case readsOn
        /// Makes the client wait.
        case waits
        /// Makes the import work on this buffer.
        case works(ImportBuffer)
        /// Answers.
        case fails(Failure)
    }

    /// The next step of the import.
    enum Next {
        /// Lets the client go on if it waits, and works on this buffer.
        case work(ImportBuffer, isWaiting: Bool)
        /// Puts the rest, and answers.
        case end
        /// Waits for more. The client does not wait: it waits only while there is a buffer.
        case idle
        /// Nothing: the request was lost.
        case stop
    }

    /// Whether a failed import answers, or leaves that to the serving thread.
    enum Ending {
        case answers, leaves
    }

    private struct State: Sendable {
        var buffer: ImportBuffer?
        var isWorking = false
        var isClientWaiting = false
        var isComplete = false
        var isLost = false
        var failure: Failure?
    }

    private let places: SharedPlaces
    private let client: ClientKey
    private let state = Guarded<State>(State())

    /// - Parameters:
    ///   - places: The places of full buffers of all imports. Without a place, the import takes one
    ///     piece after the other.
    ///   - client: The sender of the body.
    init(_ places: SharedPlaces, _ client: ClientKey) {
        self.places = places
        self.client = client
    }

    /// Takes a piece of the body.
    func receive(_ piece: UnsafeRawBufferPointer) -> Reception {
        state.write { state in
            if let failure = state.failure {
                return .fails(failure)
            }
            let buffer = state.buffer ?? ImportBuffer(capacity: piece.count)
            unsafe buffer.append(piece)
            guard state.isWorking else {
                state.isWorking = true
                return .works(buffer)
            }
            state.buffer = buffer
            if buffer.roomByteCount < piece.count {
                buffer.lengthen(in: places, for: client)
            }
            state.isClientWaiting =
                unsafe buffer.roomByteCount < piece.count
                || buffer.bytes.count >= ImportBuffer.fullByteCount
            return state.isClientWaiting ? .waits : .readsOn
        }
    }

    /// Notes the end of the body.
    ///
    /// - Returns: Whether the import is to be told, or its failure.
    func complete() -> Reception {
        state.write { state in
            if let failure = state.failure {
                return .fails(failure)
            }
            state.isComplete = true
            guard !state.isWorking else {
                return .readsOn
            }
            state.isWorking = true
            return .works(ImportBuffer(capacity: 0))
        }
    }

    func lose() {
        state.write { state in
            state.isLost = true
            state.buffer = nil
        }
    }

    var isLost: Bool { state.read { $0.isLost } }

    /// The import has used up its buffer.
    func next() -> Next {
        state.write { state in
            guard !state.isLost else {
                return .stop
            }
            if let buffer = state.buffer {
                defer { (state.buffer, state.isClientWaiting) = (nil, false) }
                return .work(buffer, isWaiting: state.isClientWaiting)
            }
            if state.isComplete {
                return .end
            }
            state.isWorking = false
            return .idle
        }
    }

    /// The import has failed, and works on nothing any more.
    func fail(_ failure: Failure) -> Ending {
        state.write { state in
            state.buffer = nil
            guard !state.isComplete, !state.isClientWaiting, !state.isLost else {
                return state.isLost ? .leaves : .answers
            }
            state.failure = failure
            return .leaves
        }
    }
}
