// Stands in the laboratory's page before its own scripts, for checks: notes frames, long tasks, the first paint, and
// what the page's thread and its workers say to each other. What it notes is `window.probe`.
(() => {
  const probe = { frames: [], longTasks: [], firstPaint: null, firstPacket: null, workers: [], isHasty: false };
  window.probe = probe;
  // Workers that live, the page's own first; of those that are over nothing stays.
  let living = [];
  probe.started = 0;
  /** Ends every worker but the first, which plays: those of the trade-off. */
  probe.calm = () => {
    for (const worker of living.slice(1)) worker.terminate();
  };
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) probe.longTasks.push([startTime, duration]);
  }).observe({ type: "longtask", buffered: true });
  new PerformanceObserver((list) => {
    const paint = list.getEntries().find(({ name }) => name === "first-contentful-paint");
    if (paint) probe.firstPaint = paint.startTime;
  }).observe({ type: "paint", buffered: true });

  // The moments of so many frames are kept: minutes of them.
  const MOST_FRAMES = 20_000;
  // Engines that run on the page's own thread.
  probe.instances = 0;
  const { Instance } = WebAssembly;
  WebAssembly.Instance = class extends Instance {
    constructor(...parts) {
      super(...parts);
      probe.instances += 1;
    }
  };
  const { instantiate } = WebAssembly;
  WebAssembly.instantiate = (...parts) => {
    probe.instances += 1;
    return instantiate(...parts);
  };

  let frame = 0;
  const count = (now) => {
    frame += 1;
    probe.frames.push(now);
    if (probe.frames.length > MOST_FRAMES) probe.frames = [];
    // A visitor who cannot wait: presses Play as soon as a run can be played.
    const button = probe.isHasty && document.querySelector(".transport button.main");
    if (button && !button.disabled && document.querySelector(".figures dd")?.textContent) {
      probe.isHasty = false;
      button.click();
    }
    requestAnimationFrame(count);
  };
  requestAnimationFrame(count);

  const Real = window.Worker;
  window.Worker = class extends Real {
    constructor(...source) {
      super(...source);
      // `unseen` pictures have come and are not answered yet; `inFrame` came since the last frame.
      this.note = { asked: 0, answered: 0, mostAsked: 0, playedAt: null, endedAt: null, arrivals: 0 };
      Object.assign(this.note, { pictures: 0, unseen: 0, mostUnseen: 0, frame, inFrame: 0, mostInFrame: 0 });
      probe.workers.push(this.note);
      living.push(this);
      probe.started += 1;
      this.addEventListener("message", ({ data }) => this.#hear(data));
    }

    /** Packets that had arrived by the last picture. */
    #arrived = 0;

    #hear(news) {
      const { note } = this;
      if (news.kind === "answer" || news.kind === "no answer") note.answered += 1;
      if (news.kind === "ended") note.endedAt = performance.now();
      if (news.kind !== "picture") return;
      note.pictures += 1;
      note.unseen += 1;
      note.mostUnseen = Math.max(note.mostUnseen, note.unseen);
      note.inFrame = note.frame === frame ? note.inFrame + 1 : 1;
      note.frame = frame;
      note.mostInFrame = Math.max(note.mostInFrame, note.inFrame);
      // The header has 17 columns, of which the second is the events so far; a link's fourth is its arrivals.
      const arrived = news.figures[17 + 3];
      note.arrivals += arrived < this.#arrived ? arrived : arrived - this.#arrived;
      this.#arrived = arrived;
      if (probe.firstPacket === null && news.figures[1] > 0)
        requestAnimationFrame((now) => {
          probe.firstPacket ??= now;
        });
    }

    postMessage(order, ...rest) {
      if (order.kind === "seen") this.note.unseen -= 1;
      if (order.kind === "start") Object.assign(this.note, { unseen: 0, playedAt: null, endedAt: null });
      if (order.kind === "play") this.note.playedAt ??= performance.now();
      if (order.kind === "ask") this.note.asked += 1;
      this.note.mostAsked = Math.max(this.note.mostAsked, this.note.asked - this.note.answered);
      super.postMessage(order, ...rest);
    }

    terminate() {
      living = living.filter((worker) => worker !== this);
      probe.workers = living.map(({ note }) => note);
      super.terminate();
    }
  };
})();
