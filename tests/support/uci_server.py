"""A local server that speaks the UCI API as ucimlrepo 0.0.7 uses it, and can misbehave."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

API = "/api/dataset"
CSV = "/static/public/2/data.csv"


@dataclass
class Uci:
    """What the server sends, and what it was asked for."""

    url: str
    csv: bytes
    columns: Sequence[str]
    bad_gateways: int = 0  # answers 502 to so many requests first
    requests: list[str] = field(default_factory=list)

    def metadata(self) -> bytes:
        variables = [
            {
                "name": name,
                "role": "Target" if name == "income" else "Feature",
                "type": "Categorical",
                "demographic": None,
                "description": None,
                "units": None,
                "missing_values": "no",
            }
            for name in self.columns
        ]
        data = {
            "uci_id": 2,
            "name": "Adult",
            "repository_url": "https://archive.ics.uci.edu/dataset/2/adult",
            "data_url": self.url + CSV,
            "num_instances": 48842,
            "has_missing_values": "yes",
            "missing_values_symbol": "NaN",
            "intro_paper": None,
            "additional_info": {"summary": "Census Income"},
            "variables": variables,
        }
        return json.dumps({"status": 200, "statusText": "OK", "data": data}).encode()


@contextmanager
def serve(csv: bytes, columns: Sequence[str]) -> Iterator[Uci]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            uci.requests.append(self.path)
            path = self.path.partition("?")[0]
            if uci.bad_gateways:
                uci.bad_gateways -= 1
                self.send_error(502)
            elif self.path not in (f"{API}?id=2", CSV):
                self.send_error(404)
            else:
                body = uci.csv if path == CSV else uci.metadata()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        uci = Uci(f"http://127.0.0.1:{server.server_port}", csv, columns)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield uci
        finally:
            server.shutdown()
            thread.join()
