"""The part of the dashboard for replicas, of a leader and of a cluster."""

import axe
from process import Etcd, Failure, Latchkey, expect


def is_shown(browser):
    return browser.run("return document.getElementById('cluster').checkVisibility()")


def check_alone(service, browser):
    browser.open(service.url + "/#overview")
    browser.wait_for_text("#overview-state", "Live")
    if browser.run("return document.getElementById('session').checkVisibility()"):
        raise Failure("a service without tokens offers to sign in")
    if is_shown(browser) or service.ask_json("/v1/cluster") != {}:
        raise Failure("a service alone shows replicas")


def check_following(binary, browser, log, pictures):
    with Latchkey(binary, log=log) as leader:
        with Latchkey(binary, "--follow", leader.url, log=log) as replica:
            leader.ask("PUT", "/v1/properties/a", "1")
            browser.open(replica.url + "/")
            browser.wait_for_text("#following-facts", f"Follows {leader.url}. Level")
            browser.wait_for_text("#following-facts", ", 0 revisions behind.")
            browser.wait_for_text("#cluster-facts", "following")
            if pictures:
                browser.screenshot(pictures / "following.png", 1280)
            axe.check(browser, "a follower")
            replica.ask("POST", "/v1/promote")
            browser.wait_for_text("#following-facts", "until it was promoted")


def check_cluster(binary, folder, browser, log, pictures):
    with Etcd(folder / "etcd", log) as etcd:
        addresses = ("http://one.example:8080", "http://two.example:8080")
        one, two = (Latchkey(binary, "--data", folder / str(number), "--cluster", etcd.url,
                             "--cluster-name", "orders", "--cluster-url", address, log=log)
                    for number, address in enumerate(addresses))
        with one:
            with two:
                one.ask("PUT", "/v1/properties/a", "1")
                browser.open(one.url + "/")
                browser.wait_for_text("#cluster-title", "Cluster orders")
                browser.wait_for("both with the same revision", """
                    const rows = [...document.querySelectorAll('#replicas tr')];
                    return rows.length === 2 && rows.every(row =>
                      row.children[1].textContent === 'latest'
                      && row.querySelector('.good')?.textContent === 'serving')""")
                rows = sorted(browser.texts("#replicas tr"))
                expect(f"which replicas {rows} are", [
                    (address in row, "(this one)" in row) for address, row in zip(addresses, rows)],
                    [(True, True), (True, False)])
                axe.check(browser, "a cluster")
                if pictures:
                    browser.screenshot(pictures / "cluster.png", 1280)
                    browser.look_like(390, 844)
                    browser.screenshot(pictures / "cluster-narrow.png", 390)
                    browser.look_like(1280, 900)
            # Its last state stays, but does not count as present.
            browser.wait_for_text("#replicas .bad", "silent, was serving")
            axe.check(browser, "a cluster with a silent replica")
            if pictures:
                browser.screenshot(pictures / "cluster-silent.png", 1280)
