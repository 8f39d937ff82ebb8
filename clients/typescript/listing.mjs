// A list of the host's, page by page or item by item.

export class Listing {
  #fetchPage;
  #cursor;

  /** `fetchPage`: the page at a cursor; undefined for the first. */
  constructor(fetchPage, cursor) {
    this.#fetchPage = fetchPage;
    this.#cursor = cursor;
  }

  /** A page may be short, even empty, and not be the last. */
  async *pages() {
    let cursor = this.#cursor;
    do {
      const page = await this.#fetchPage(cursor);
      yield page;
      cursor = page.next;
    } while (cursor !== null && cursor !== undefined);
  }

  async *[Symbol.asyncIterator]() {
    for await (const page of this.pages()) yield* page.items;
  }
}
