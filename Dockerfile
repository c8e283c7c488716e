# The app on a server: docker build -t tmlcd . && docker run -p 8501:8501 tmlcd, opened as http://localhost:8501
# Under any other name or address: docker run -p 8501:8501 -e TMLCD_HOSTS=lab.example.org tmlcd (SECURITY.md)
# Microphones need https in front of it (a reverse proxy), or a browser on the same machine.
FROM python:3.11-slim

# One list of Debian packages, for this image and for hosts that read packages.txt.
COPY packages.txt /tmp/
RUN apt-get update \
    && xargs apt-get install -y --no-install-recommends < /tmp/packages.txt \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /lab
# Without the index of CPU builds, pip would bring gigabytes of CUDA along with torch.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
COPY requirements.txt ./
RUN pip install --no-cache-dir --extra-index-url "$TORCH_INDEX" -r requirements.txt

COPY .streamlit .streamlit
COPY tmlcd_core tmlcd_core
COPY pages pages
COPY data data
COPY app.py LICENSE NOTICE ./

RUN useradd --create-home lab
USER lab
# One inner thread: the learners work on small arrays, where a thread pool costs more than it gives.
ENV OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
# What numba compiles is kept in the user's cache: the first visitor does not wait for it.
RUN python -m tmlcd_core compile

EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; assert u.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4).read() == b'ok'"]
# .streamlit/config.toml serves this machine only; a container serves whom its port is published to.
CMD ["python", "-m", "streamlit", "run", "app.py", "--server.address", "0.0.0.0", "--server.port", "8501", "--browser.serverAddress", "localhost"]
