#include "tests/probe/report.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace shiftconv::probe {
namespace {

std::string answer(const Observation& observation) {
  if (!observation.applicable) return "not applicable";
  if (!observation.alternative) return "none of the alternatives";
  return fmt::format("{} ({})", *observation.alternative, wording(observation.id).alternatives[*observation.alternative]);
}

std::string_view verdict(const Observation& observation) {
  if (!observation.applicable) return "this device cannot be asked";
  if (observation.alternative && !observation.isConclusive())
    return "seen, but no run can prove it, so that the emulator does not take it over";
  return observation.alternative == 0 ? "as the emulator" : "DIFFERS from the emulator's default";
}

}  // namespace

std::string formatObservations(const std::vector<Observation>& observations) {
  std::string text;
  for (const Observation& observation : observations) {
    const emulator::UnprovenQuestion& question = wording(observation.id);
    text += fmt::format("{:4} {}\n     observed: {}: {}\n", question.name, question.question, answer(observation),
                        verdict(observation));
    if (!observation.detail.empty()) text += fmt::format("     detail: {}\n", observation.detail);
  }
  return text;
}

std::string formatQuestions() {
  std::string text;
  for (const emulator::UnprovenQuestion& question : emulator::unprovenQuestions()) {
    text += fmt::format("{:4} {}\n", question.name, question.question);
    for (const NonDiscriminating& other : nonDiscriminating())
      if (other.id == question.id) text += fmt::format("     non-discriminating: {}\n", other.reason);
    for (size_t i = 0; i < question.alternatives.size(); ++i) text += fmt::format("     {}: {}\n", i, question.alternatives[i]);
  }
  return text;
}

nlohmann::json toJson(const std::string& device, const std::vector<Observation>& observations) {
  nlohmann::json report{{"device", device}, {"semantics", nlohmann::json::object()}, {"observations", nlohmann::json::array()}};
  for (const Observation& observation : observations) {
    const emulator::UnprovenQuestion& question = wording(observation.id);
    const std::string name(question.name);
    nlohmann::json entry{{"id", name},
                         {"question", std::string(question.question)},
                         {"applicable", observation.applicable},
                         {"agrees", observation.alternative == 0},
                         {"detail", observation.detail}};
    if (observation.isConclusive()) report["semantics"][name] = *observation.alternative;
    if (observation.alternative) {
      entry["alternative"] = *observation.alternative;
      entry["meaning"] = std::string(question.alternatives[*observation.alternative]);
    }
    report["observations"].push_back(std::move(entry));
  }
  return report;
}

std::vector<Observation> observationsFrom(const nlohmann::json& report) {
  std::vector<Observation> observations;
  for (const nlohmann::json& entry : report.at("observations"))
    for (const emulator::UnprovenQuestion& question : emulator::unprovenQuestions()) {
      if (question.name != entry.at("id").get<std::string>()) continue;
      Observation observation{question.id, {}, entry.at("applicable").get<bool>(), entry.at("detail").get<std::string>()};
      if (entry.contains("alternative")) observation.alternative = entry.at("alternative").get<uint8_t>();
      observations.push_back(std::move(observation));
    }
  return observations;
}

}  // namespace shiftconv::probe
