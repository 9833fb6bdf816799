"""A server of a few lines that sends what it is told, byte for byte, and notes what it gets."""

import asyncio
import contextlib
import threading


class RawServer:
    """Answers each request with the next of some answers: pieces of bytes, and what is done between them."""

    def __init__(self, *answers, context=None):
        self.answers = list(answers)
        self.connections = 0
        self.requests = []
        self.left = 0
        """Connections that the client closed."""
        self.sent = 0
        self._context = context
        self._writers = []
        self._tasks = []

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._context, limit=1 << 20)
        self.port = self._server.sockets[0].getsockname()[1]
        scheme = "https" if self._context else "http"
        self.url = f"{scheme}://{'localhost' if self._context else '127.0.0.1'}:{self.port}"
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0.01)

    async def _serve(self, reader, writer):
        self.connections += 1
        self._writers.append(writer)
        self._tasks.append(asyncio.current_task())
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.requests.append(head)
                if not await self._answer(reader, writer, head):
                    break
            writer.close()
            return
        self.left += 1
        writer.close()

    async def _answer(self, reader, writer, head):
        """Send an answer; return whether the connection stays open."""
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        unread = "unread" in answer
        if not unread:
            length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length: ")]
            await reader.readexactly(int(length[0][16:]) if length else 0)
        for piece in answer:
            if isinstance(piece, bytes):
                writer.write(piece)
                await writer.drain()
                self.sent += len(piece)
            elif isinstance(piece, float):
                await asyncio.sleep(piece)
            elif piece == "close":
                return False
        return not unread


def whole(body=b"{}", *headers, status=200):
    """Return an answer with the length of its body."""
    lines = [f"HTTP/1.1 {status} Said", *headers, f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@contextlib.contextmanager
def raw_upstream(*answers):
    """Run such a server in a thread, and yield it; requests for the windows of models are answered 404 beside."""
    loop, server = asyncio.new_event_loop(), _Upstream(*answers)
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


class _Upstream(RawServer):
    async def _answer(self, reader, writer, head):
        if head.split(b" ")[1].endswith((b"/props", b"/v1/models")):
            self.requests.pop()
            writer.write(whole(b"{}", status=404))
            return True
        return await super()._answer(reader, writer, head)
