// A service that asks for tokens answers 401. Then the page asks for one, and gets a cookie for it,
// which no script can read. The token itself is kept nowhere.

const session = {
  opening: undefined,
  // True until the reader goes to another part, or wants to be asked.
  isDeclined: false,
  isSignedIn: false,

  /// Only a service that asks for tokens refuses a session without one. Any other answer shows
  /// whether the page has a cookie.
  async start() {
    if ((await request("POST", "/v1/session")).status !== 401) return;
    this.show((await request("GET", "/v1/strategy")).status !== 401);
  },

  show(isSignedIn) {
    this.isSignedIn = isSignedIn;
    $("session").hidden = false;
    write($("session"), isSignedIn ? "Sign out" : "Sign in");
  },

  async signOut() {
    if (!await editor.mayLeave()) return;
    await request("DELETE", "/v1/session");
    // Removes everything that was read.
    location.reload();
  },

  /// Without a token the page is empty: it says so, and has a way back to the question.
  decline(isDeclined) {
    this.isDeclined = isDeclined;
    $("no-token").replaceChildren(...isDeclined ? [make("div", {class: "note warn bar"},
      make("span", {}, "This service asks for a token. The page has none."),
      button("Sign in", () => this.askAgain(), "main-button"))] : []);
  },

  async askAgain() {
    this.decline(false);
    if (!await this.open()) return;
    current.stop();
    start();
  },

  /// Asks for a token, once for all requests that need it. False if there is none.
  async open() {
    if (this.isDeclined) return false;
    this.opening ??= this.askForToken().finally(() => this.opening = undefined);
    return this.opening;
  },

  async askForToken() {
    const [dialog, text] = [$("token"), $("token-text")];
    note("token-note", "");
    for (;;) {
      dialog.returnValue = "";
      dialog.showModal();
      await new Promise(done => dialog.addEventListener("close", done, {once: true}));
      const token = text.value.trim();
      text.value = "";
      if (dialog.returnValue !== "use" || token === "") {
        this.decline(true);
        this.show(false);
        return false;
      }
      const answer =
        await request("POST", "/v1/session", {headers: {Authorization: `Bearer ${token}`}});
      if (answer.ok) {
        this.show(true);
        return true;
      }
      note("token-note", reason(answer), "bad");
    }
  },
};
$("session").addEventListener("click", () =>
  session.isSignedIn ? session.signOut() : session.askAgain());
addEventListener("hashchange", () => session.decline(false));
// Not a button that submits: the Enter key would press it, as the first one of its form.
$("token-cancel").addEventListener("click", () => $("token").close());
