internal import Dispatch
internal import Glibc
internal import LatchkeyAccess
internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyJSON
internal import LatchkeyStore
internal import LatchkeyStrategies

/// An import: reads lines from a body and puts them, batch after batch.
///
/// The last line must say that the lines are whole, unless the client says that they are a part: a
/// body that was cut off would look like fewer lines, not like an error. So the batch in which the
/// end is missing is not put.
///
/// **Design.** The changing state is used only on a serial queue of the import. The pieces of the
/// body are copied into buffers, which the queue takes one after the other (``ImportInbox``). So an
/// import holds two buffers and one batch, and no thread that serves is blocked. One batch is on
/// its way to the store at any time, so that the lines take effect in their order. Its completion
/// comes back to the queue, on which a blocking strategy does no harm either.
///
/// The inbox says when the queue may use the request.
///
/// SAFETY: `@unchecked Sendable` because the changing state is used only on the queue.
final class Import: BodyReader, @unchecked Sendable {
    private let request: ServiceRequest
    private let store: ServedProperties
    private let isPartial: Bool
    private let limits: ImportLimits
    private let queue = DispatchQueue(label: "latchkey.import")

    private let inbox: ImportInbox<Failed>
    /// For the audit log, if the client goes before the end; nil without an audit log.
    private let origin: AuditOrigin?
    /// Whether a batch is on its way to the store.
    private var isCommitting = false
    private var hasNotedLoss = false

    /// The buffer that is divided into lines, and how much of it is.
    private var buffer: ImportBuffer?
    private var readByteCount = 0
    /// Whether the body has ended, and all of it is divided.
    private var isAtEnd = false
    private var batch = ImportBatch()
    private var steps: ImportSteps
    /// How many lines have ended.
    private var lineNumber = 0
    /// Whether the body ended in the middle of the last line, or just before its line feed.
    private var lastLineIsOpen = false
    private var importedCount = 0
    /// The latest commit of the import, or of the store.
    private var revision: Revision?
    private var receivedByteCount = 0

    /// The answer to a failed import.
    private struct Failed: Sendable {
        let failure: ImportFailure
        let importedCount: Int
        let revision: Revision?
        let receivedByteCount: Int
    }

    init(
        _ request: ServiceRequest,
        store: ServedProperties,
        isPartial: Bool,
        limits: ImportLimits,
        places: SharedPlaces
    ) {
        self.request = request
        self.store = store
        self.isPartial = isPartial
        self.limits = limits
        steps = ImportSteps(isPartial: isPartial)
        inbox = ImportInbox(places, request.client)
        origin = request.series.routeAudit == nil ? nil : AuditOrigin(request)
    }

    func take(_ piece: Bytes, of exchange: Exchange) -> BodyProgress {
        switch unsafe piece.withUnsafeBytes({ unsafe inbox.receive($0) }) {
        case .readsOn:
            return .more
        case .waits:
            return .wait
        case .works(let buffer):
            queue.async { self.work(on: buffer) }
            return .more
        case .fails(let failed):
            answer(failed)
            return .more
        }
    }

    func lose(_ reason: BodyLoss) {
        inbox.lose()
        if origin != nil {
            queue.async { self.noteLoss() }
        }
    }

    /// Adds the import of a client that has gone to the audit log, after its last batch.
    private func noteLoss() {
        guard let origin, inbox.isLost, !isCommitting, !hasNotedLoss else { return }
        hasNotedLoss = true
        request.series.lines?
            .noteLoss(origin, count: importedCount, revision: revision)
    }

    /// Puts the remaining lines, and answers.
    func finish() {
        switch inbox.complete() {
        case .readsOn, .waits: break
        case .works(let buffer): queue.async { self.work(on: buffer) }
        case .fails(let failed): answer(failed)
        }
    }

    private func work(on buffer: ImportBuffer) {
        begin(buffer)
        goOn()
    }

    private func begin(_ buffer: ImportBuffer) {
        unsafe receivedByteCount += buffer.bytes.count
        self.buffer = buffer
        readByteCount = 0
    }

    /// Divides buffers into lines until a batch is full or there is nothing to do.
    private func goOn() {
        while true {
            do throws(ImportFailure) {
                if try fillBatch() {
                    commit()
                    return
                }
            } catch {
                fail(error)
                return
            }
            if isAtEnd {
                end()
                return
            }
            buffer = nil
            switch inbox.next() {
            case .work(let buffer, let isWaiting):
                begin(buffer)
                if isWaiting {
                    request.exchange.readOn()
                }
            case .end:
                isAtEnd = true
            case .idle, .stop:
                return
            }
        }
    }

    /// Whether the batch is full; otherwise the buffer is used up.
    private func fillBatch() throws(ImportFailure) -> Bool {
        guard let buffer else {
            return false
        }
        let bytes = unsafe buffer.bytes
        while !batch.isFull(limits) {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[readByteCount...])
            guard let start = rest.baseAddress, unsafe !rest.isEmpty else {
                return false
            }
            let end = unsafe memchr(start, Int32(UInt8(ascii: "\n")), rest.count)
            let count = unsafe end.map { unsafe UnsafeRawPointer($0) - start } ?? rest.count
            guard batch.openByteCount + count <= limits.lineByteCountMax else {
                throw ImportFailure(
                    RequestFailure(
                        .invalidLine,
                        "A line can have at most \(limits.lineByteCountMax) bytes."
                    ),
                    line: lineNumber + 1
                )
            }
            guard batch.fits(count, limits) else { return true }
            let part = unsafe UnsafeRawBufferPointer(rebasing: rest[..<count])
            readByteCount += count
            if unsafe end != nil {
                readByteCount += 1
                try unsafe endLine(part, in: buffer)
            } else {
                unsafe batch.keepOpen(part)
            }
        }
        return true
    }

    private func endLine(
        _ bytes: UnsafeRawBufferPointer,
        in buffer: ImportBuffer?
    ) throws(ImportFailure) {
        lineNumber += 1
        guard let line = unsafe batch.endLine(bytes, in: buffer, lineNumber) else { return }
        do throws(InvalidImportLine) {
            try steps.add(unsafe ImportEntry(line, depthMax: limits.depthMax, owner: batch))
        } catch {
            let reason =
                switch error {
                case .json where lastLineIsOpen && !isPartial:
                    RequestFailure(.incompleteImport, "The last line is cut off.")
                case .badCount: RequestFailure(.incompleteImport, error.detail)
                default: RequestFailure(.invalidLine, error.detail)
                }
            throw ImportFailure(reason, line: lineNumber)
        }
        if let right = steps.steps.last?.lackedRight(of: request.caller) {
            throw ImportFailure(.forbidden(right, request.caller), line: lineNumber)
        }
    }

    /// Puts the rest after the last piece, and answers when nothing is left.
    private func end() {
        if batch.openByteCount > 0 {
            lastLineIsOpen = true
            do throws(ImportFailure) {
                try unsafe endLine(UnsafeRawBufferPointer(start: nil, count: 0), in: nil)
            } catch {
                fail(error)
                return
            }
        }
        guard batch.lineCount == 0, steps.isWhole || isPartial, let revision else {
            // Without lines, this commit tells the latest revision.
            commit()
            return
        }
        request.series.recordReceived(receivedByteCount)
        var json = JSONWriter()
        json.object { object in
            object.member("imported", importedCount)
            object.member("revision", revision)
        }
        request.respond(json: json.bytes) { $0.imported = (importedCount, revision) }
    }

    /// Answers, also in the middle of the body; the rest of it is discarded.
    private func fail(_ failure: ImportFailure) {
        let failed = Failed(
            failure: failure,
            importedCount: importedCount,
            revision: revision,
            receivedByteCount: receivedByteCount
        )
        buffer = nil
        if inbox.fail(failed) == .answers {
            answer(failed)
        }
    }

    private func answer(_ failed: Failed) {
        request.series.recordReceived(failed.receivedByteCount)
        request.fail(
            failed.failure.reason.problem,
            detail: failed.failure.reason.detail,
            extensions: ["line": failed.failure.line, "imported": failed.importedCount],
            audit: { $0.imported = (failed.importedCount, failed.revision) }
        )
    }

    /// How often a batch that found the backlog full is submitted again, and after which time: ten
    /// seconds in all.
    private static let attemptsMax = 5000
    private static let pause = DispatchTimeInterval.milliseconds(2)

    private func commit() {
        guard !inbox.isLost else {
            return
        }
        guard !request.caller.isRevoked else {
            fail(ImportFailure(.revoked, line: lineNumber + 1))
            return
        }
        guard !isAtEnd || steps.isWhole || isPartial else {
            let reason = RequestFailure(
                .incompleteImport,
                #"The last line is missing, {"end":true,"count":…,"revision":…}."#
            )
            fail(ImportFailure(reason, line: lineNumber + 1))
            return
        }
        let puts = steps.next()
        guard !puts.isEmpty || revision == nil else {
            // There was the last line only.
            startBatch()
            queue.async { self.goOn() }
            return
        }
        isCommitting = true
        submit(.transaction(Transaction(puts)), attempt: 1)
    }

    private func submit(_ change: Change, attempt: Int) {
        do {
            try store.commit(change, author: request.caller.author) { [self] decision in
                queue.async { self.take(decision) }
            }
        } catch {
            guard attempt < Self.attemptsMax else {
                isCommitting = false
                fail(ImportFailure(RequestFailure(.backlogFull), line: batch.firstNumber))
                return noteLoss()
            }
            queue.asyncAfter(deadline: .now() + Self.pause) { [self] in
                submit(change, attempt: attempt + 1)
            }
        }
    }

    private func take(_ decision: Decision) {
        isCommitting = false
        defer { noteLoss() }
        switch decision {
        case .success(let commit):
            importedCount = steps.count
            revision = commit.revision
            startBatch()
            goOn()
        case .failure(let refusal):
            fail(ImportFailure(refusal.failure, line: batch.firstNumber))
        }
    }

    private func startBatch() {
        batch = batch.next()
    }
}

/// The reason why an import ends before the end of its body.
private struct ImportFailure: Error {
    let reason: RequestFailure
    /// The number of the line, or of the first one of a batch that was refused as a whole.
    let line: Int

    init(_ reason: RequestFailure, line: Int) {
        self.reason = reason
        self.line = line
    }
}
