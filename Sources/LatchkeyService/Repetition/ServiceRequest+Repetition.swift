internal import LatchkeyFrame
internal import LatchkeyStore

extension ServiceRequest {
    /// Nil unless repeats of the request get its answer.
    var keeper: AnswerKeeper? { witness.flatMap { $0 as? AnswerKeeper } }

    /// What is to be stored with a commit: who has made it; and the key of the request, with the
    /// answer that `respond` makes, if the request has a key.
    func note(_ respond: (ServiceRequest) -> Void) -> CommitNote? {
        CommitNote(author: caller.author, bytes: keeper?.note(self, respond))
    }

    /// Ends a request that its client has given up, and of which nothing was done.
    ///
    /// A repeat of it runs.
    func giveUp() {
        answerInVain()
        keeper?.free()
    }

    /// Refuses a request whose key is free afterwards: a repeat is decided anew.
    func failFreeing(_ keeper: AnswerKeeper, _ failure: RequestFailure) {
        var request = self
        request.witness = nil
        request.fail(failure)
        keeper.free()
    }
}
