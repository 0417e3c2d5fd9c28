#include "tuner/cli/fleet_flags.h"

#include "rpc/wire/access/credential_flags.h"

namespace hone {
namespace {

std::string is_label(std::string& text) {
  const size_t equals = text.find('=');
  return equals == text.npos || equals == 0 ? "'" + text + "' is not k=v" : "";
}

}  // namespace

void add_fleet_flags(CLI::App& app, TuneRequest& f, const std::string& tracker_text) {
  app.add_option("--tracker", f.tracker, tracker_text);
  app.add_option("--device", f.device, "choose a device, an agent or a label (k=v) of the tracker");
  app.add_option("--label", f.labels, "take only devices of the tracker with this label (k=v); several: all must hold")
      ->allow_extra_args(false)
      ->check(CLI::Validator(is_label, "K=V"));
  wire::add_credential_flags(app, f.credentials);
  app.add_flag("--insecure", f.insecure, "allow a tracker on another host without encryption or authentication");
  for (const char* name : {"--fleet", "--tracker", "--device", "--label", "--tls-ca", "--tls-cert", "--tls-key",
                           "--token-file", "--insecure"})
    app.get_option(name)->group("A fleet's device");
}

std::vector<std::pair<std::string, std::string>> credential_files(const TuneRequest& f) {
  return {{"--fleet", f.credentials.fleet},
          {"--tls-ca", f.credentials.ca},
          {"--tls-cert", f.credentials.certificate},
          {"--tls-key", f.credentials.key},
          {"--token-file", f.credentials.token}};
}

}  // namespace hone
