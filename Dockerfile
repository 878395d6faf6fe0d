# The image of Causeway. Serves on 8080; its config is /etc/causeway/causeway.yaml, see deploy/causeway.yaml for what to
# put there. Runs as `node` (uid 1000), writes nothing: start it with a read-only root file system (`--read-only`).
# stdio backends are children of the gateway: give the container an init (`--init`), so that what they leave is reaped,
# and a `--tmpfs /tmp` when they write.

FROM node:24-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm pack --pack-destination /tmp && bash deploy/assemble.sh /tmp/causeway-*.tgz package-lock.json /opt/causeway

FROM node:24-slim
LABEL org.opencontainers.image.title="causeway" \
      org.opencontainers.image.description="A gateway for the Model Context Protocol" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production
COPY --from=build /opt/causeway /opt/causeway
COPY deploy/causeway.yaml /etc/causeway/causeway.yaml
USER node
WORKDIR /etc/causeway
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9090/healthz').then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/opt/causeway/dist/cli/main.js"]
CMD ["run", "-c", "/etc/causeway/causeway.yaml"]
