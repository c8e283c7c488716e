# The app on a server: docker build -t tmlcd . && docker run -p 8501:8501 tmlcd, then open http://localhost:8501
# With another name or address: docker run -p 8501:8501 -e TMLCD_HOSTS=lab.example.org tmlcd (SECURITY.md)
# Microphones need https (a reverse proxy), or a browser on the same machine.
FROM python:3.11-slim

# Hosting services read packages.txt too.
COPY packages.txt /tmp/
RUN apt-get update \
    && xargs apt-get install -y --no-install-recommends < /tmp/packages.txt \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /lab
# Without the index of CPU builds, pip installs gigabytes of CUDA with torch.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
COPY requirements.txt ./
RUN pip install --no-cache-dir --extra-index-url "$TORCH_INDEX" -r requirements.txt

COPY .streamlit .streamlit
COPY tmlcd_core tmlcd_core
COPY pages pages
COPY data data
COPY app.py LICENSE NOTICE ./

# A volume mounted at /cache (compose.yaml) takes over its owner.
RUN useradd --create-home lab && install --directory --owner lab /cache
USER lab
# One inner thread: on the learners' small arrays a thread pool is slower.
ENV OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
# Compile into the user's cache now, so that the first visitor does not wait for numba.
RUN python -m tmlcd_core compile

EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; assert u.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4).read() == b'ok'"]
# .streamlit/config.toml binds to localhost; a container must listen on all its addresses.
CMD ["python", "-m", "streamlit", "run", "app.py", "--server.address", "0.0.0.0", "--server.port", "8501", "--browser.serverAddress", "localhost"]
