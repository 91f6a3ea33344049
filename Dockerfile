# One image for the server, maintenance, migrations and the command line.
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir --prefix=/install '.[server,mcp,postgres]'

FROM python:3.13-slim
COPY --from=build /install /usr/local
RUN useradd --create-home --uid 10001 memotherm && install -d -o memotherm /data
USER memotherm
WORKDIR /data
ENV MEMOTHERM_HOME=/data
EXPOSE 8077
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8077/health', timeout=4)"]
ENTRYPOINT ["memotherm"]
CMD ["serve", "--host", "0.0.0.0"]
