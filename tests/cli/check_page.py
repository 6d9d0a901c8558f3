"""Checks a page as a browser and a screen reader need it; prints each fault and exits with 1 if there is any.

Balanced tags, unique ids, valid links within the page, headings in order, a text for
every image, labeled tables, and no resource that is fetched from another place.

    python3 check_page.py page.html
"""

import re
import sys
from html.parser import HTMLParser

VOID = {"meta", "link", "img", "br", "hr", "input"}
FETCHING = {"src", "href", "srcset", "data", "action", "poster"}


class Checker(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []
        self.ids = set()
        self.anchors = set()
        self.wrong = []
        self.heading = 0
        self.counts = {}

    def complain(self, text):
        self.wrong.append(f"line {self.getpos()[0]}: {text}")

    def handle_starttag(self, tag, attributes):
        self.look(tag, dict(attributes))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.look(tag, dict(attributes))

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.complain(f"</{tag}> closes {self.open[-1] if self.open else 'nothing'}")
        else:
            self.open.pop()

    def look(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        if "id" in attributes:
            if attributes["id"] in self.ids:
                self.complain(f"id {attributes['id']} again")
            self.ids.add(attributes["id"])
        for name in FETCHING & attributes.keys():
            value = attributes[name] or ""
            if value.startswith("#"):
                self.anchors.add(value[1:])
            elif not value.startswith("data:"):
                self.complain(f"{tag} {name}={value[:60]} is fetched")
        if any(name.startswith("on") for name in attributes) or tag == "script":
            self.complain(f"{tag} has a script")
        if tag == "img" and not (attributes.get("alt") or "").strip():
            self.complain("img without alt")
        if tag == "svg" and not (attributes.get("aria-label") or "").strip():
            self.complain("svg without aria-label")
        if tag == "th" and attributes.get("scope") not in ("row", "col"):
            self.complain("th without scope")
        if re.fullmatch("h[1-6]", tag):
            level = int(tag[1])
            if level > self.heading + 1:
                self.complain(f"{tag} after h{self.heading}")
            self.heading = level


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    checker = Checker()
    checker.feed(text)
    checker.close()
    wrong = checker.wrong
    wrong += [f"not closed: {tag}" for tag in checker.open]
    wrong += [f"link to #{name}, which is not there" for name in checker.anchors - checker.ids]
    wrong += [f"no <{tag}>" for tag in ("main", "header", "nav", "footer", "title", "h1", "svg", "img")
              if tag not in checker.counts]
    wrong += [f"{checker.counts['h1']} h1"] if checker.counts.get("h1", 0) > 1 else []
    wrong += [f"address in the style: {found}" for found in re.findall(r"url\([^)]*\)|@import", text)]
    wrong += [f"address: {found}" for found in re.findall(r"https?://[^\s\"'<]{0,40}", text)]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
