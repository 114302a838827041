// One stream of events from the service: read with fetch, because an EventSource sends no token.
// After a break, the stream resumes after the last event id.

export class Stream {
  // `deliver` is called with ("event", name, data) and ("state", "live" | "waiting").
  constructor(deliver) {
    this.deliver = deliver;
    this.token = '';
    this.topics = [];
    this.lastId = '';
    this.round = 0;
  }

  // Subscribes to exactly these topics from now on.
  follow(token, topics) {
    topics = [...new Set(topics)].sort();
    if (token === this.token && topics.join('\n') === this.topics.join('\n')) return;
    this.token = token;
    this.topics = topics;
    ++this.round;
    if (this.abort) this.abort.abort();
    if (token && topics.length > 0) this.run(this.round);
  }

  async run(round) {
    while (round === this.round) {
      this.abort = new AbortController();
      try {
        await this.read(this.abort.signal);
      } catch (error) {
        if (error.status === 401) return;
      }
      if (round !== this.round) return;
      this.deliver('state', 'waiting');
      await new Promise(resolve => setTimeout(resolve, 500 + Math.random() * 500));
    }
  }

  async read(signal) {
    const headers = { Authorization: `Bearer ${this.token}` };
    if (this.lastId) headers['Last-Event-ID'] = this.lastId;
    const query = this.topics.map(topic => `topic=${encodeURIComponent(topic)}`).join('&');
    const response = await fetch(`/api/v1/events?${query}`, { headers, signal });
    if (!response.ok) throw Object.assign(new Error('no stream'), { status: response.status });
    this.deliver('state', 'live');
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      text += value;
      let end;
      while ((end = text.indexOf('\n\n')) >= 0) {
        this.take(text.slice(0, end));
        text = text.slice(end + 2);
      }
    }
  }

  take(block) {
    let name = 'message', data = '';
    for (const line of block.split('\n')) {
      if (line.startsWith('id: ')) this.lastId = line.slice(4);
      if (line.startsWith('event: ')) name = line.slice(7);
      if (line.startsWith('data: ')) data += line.slice(6);
    }
    if (data) this.deliver('event', name, JSON.parse(data));
  }
}
